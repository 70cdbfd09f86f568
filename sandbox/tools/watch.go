package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// An output directory is measured again after watchEvery, or when that is longer after watchRest times as long as measuring
// it took: the caller's CPU is no program's to use up, and many names take long. It is not later than watchLatest.
const (
	watchEvery  = 200 * time.Millisecond
	watchRest   = 20
	watchLatest = 3 * time.Second
)

// maxWatched is how many names an output directory may have, and maxWatchedDepth how deep its directories may be.
const (
	maxWatched      = 20000
	maxWatchedDepth = 64
)

// defaultDisk is how many bytes a call may have in its output directory.
const defaultDisk = 256 << 20

// fullError ends a call whose output directory has become too large. The limit on one file does not bound their number.
type fullError struct{ why string }

func (e *fullError) Error() string { return "the output directory is full: " + e.why }

// watched returns a context that ends when dir holds too much, and a function that ends the watching and returns why the
// call was ended, or nil.
//
// It is a guard and no quota: what is written between two looks, or to a file that has no name any more, is not seen.
func watched(ctx context.Context, dir string, limits ArtifactLimits) (context.Context, func() *fullError) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		next := time.NewTimer(watchEvery)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
			}
			begun := time.Now()
			if err := measure(ctx, dir, cmp.Or(limits.DiskBytes, defaultDisk)); err != nil {
				cancel(err)
				return
			}
			next.Reset(min(max(watchEvery, watchRest*time.Since(begun)), watchLatest))
		}
	}()
	return ctx, func() *fullError {
		cancel(context.Canceled)
		<-done
		var full *fullError
		if errors.As(context.Cause(ctx), &full) {
			return full
		}
		return nil
	}
}

// measure returns an error when dir holds more than it may, or ctx has ended. What is gone while it looks is left to the
// next look; any other error of the looking counts as too much, since then nothing is known.
func measure(ctx context.Context, dir string, limit int64) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &fullError{why: err.Error()}
	}
	defer root.Close()
	var total int64
	names := 0
	visit := func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return unseen(d, err)
		}
		if names++; names > maxWatched {
			return &fullError{why: fmt.Sprintf("more than %d names", maxWatched)}
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() {
			total += info.Size()
		}
		if total > limit {
			return &fullError{why: fmt.Sprintf("more than %d MB", limit>>20)}
		}
		return ctx.Err()
	}
	return walker{most: maxWatched, depth: maxWatchedDepth, visit: visit}.walk(root, ".", nil)
}

// unseen is what a directory that could not be looked into means. One that is gone, or that nobody can enter, takes
// nothing more; one that the program can enter and nobody read would hide what is written there.
func unseen(d fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if d != nil {
		if info, infoErr := d.Info(); infoErr == nil && info.Mode().Perm()&0o111 == 0 {
			return nil
		}
	}
	if errors.Is(err, errTooDeep) {
		return &fullError{why: fmt.Sprintf("directories nested deeper than %d", maxWatchedDepth)}
	}
	return &fullError{why: "a directory in it cannot be read"}
}
