package native_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func decimal(n int) string { return strconv.Itoa(n) }

// swaps is what came of calls whose mount's source was being replaced.
type swaps struct {
	// Shown saw the directory that was meant, Refused none, and Other something else.
	Shown, Refused, Other int
	Error                 string
}

// swap runs calls whose mount's source is replaced by a symbolic link all the time. The link leads to a directory that
// the same user can read and that the operator protects, so that the check refuses it, and a swap after the check has to be
// found by comparison.
func swap(dir string, calls int) swaps {
	secret, source := filepath.Join(dir, "secret"), filepath.Join(dir, "source")
	config := native.Config{Protected: []string{secret}}
	if os.Geteuid() != 0 {
		for _, g := range cgroupBound() {
			config.Waivers = append(config.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	b, err := native.Open(context.Background(), config)
	if err != nil {
		return swaps{Error: err.Error()}
	}
	stop, racer := make(chan struct{}), sync.WaitGroup{}
	racer.Go(func() { race(dir, source, secret, stop) })
	var out swaps
	p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: source, Target: "/work"}}}
	for range calls {
		r, err := b.Run(context.Background(), p, sandbox.Command{Argv: []string{"cat", "/work/name"}})
		var typed *sandbox.Error
		switch {
		case errors.As(err, &typed):
			out.Refused++
		case err == nil && string(r.Stdout) == "good\n":
			out.Shown++
		default:
			out.Other++
			out.Error = string(r.Stdout) + string(r.Stderr)
		}
	}
	close(stop)
	racer.Wait()
	if err := b.Close(); err != nil {
		out.Error = err.Error()
	}
	return out
}

// race puts a link in the source's place and the source back, with a moment for each.
func race(dir, source, secret string, stop <-chan struct{}) {
	link, spare := filepath.Join(dir, "link"), filepath.Join(dir, "spare")
	for {
		select {
		case <-stop:
			return
		default:
		}
		_ = os.Symlink(secret, link)
		_ = os.Rename(source, spare)
		_ = os.Rename(link, source)
		time.Sleep(time.Millisecond)
		_ = os.Remove(source)
		_ = os.Rename(spare, source)
		time.Sleep(time.Millisecond)
	}
}

// TestSwappedSource: a mount's source that is replaced between the check and the mount is refused. What the call saw was
// the directory that was checked, or nothing.
func TestSwappedSource(t *testing.T) {
	requireRoot(t)
	for _, uid := range []int{0, user} {
		t.Run(decimal(uid), func(t *testing.T) {
			dir := openDir(t)
			for path, content := range map[string]string{"source/name": "good\n", "secret/name": "secret\n"} {
				p := filepath.Join(dir, path)
				require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
				require.NoError(t, os.WriteFile(p, []byte(content), 0o644))
				for _, f := range []string{dir, filepath.Dir(p), p} {
					require.NoError(t, os.Chown(f, uid, uid))
				}
			}
			const calls = 300
			v := scene{User: uid, SwapDir: dir, SwapCalls: calls}.stage(t, 0)
			t.Logf("%+v", v.Swaps)
			assert.Zero(t, v.Swaps.Other, "calls that saw something else")
			assert.NotZero(t, v.Swaps.Refused, "the race was never lost, so nothing was tried")
			assert.NotZero(t, v.Swaps.Shown, "nothing was ever shown")
			assert.Equal(t, calls, v.Swaps.Shown+v.Swaps.Refused+v.Swaps.Other)
			assert.Empty(t, v.Swaps.Error)
			v.nothingLeft(t)
		})
	}
}
