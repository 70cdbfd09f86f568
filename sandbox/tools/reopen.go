package tools

import (
	"context"
	"io/fs"
	"os"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// run runs a command, and opens the workspace again when the program has closed it (chmod 0 /workspace): to itself, that is,
// and not to those after it. Nor does one that opens it open it to the other users of this machine.
func (p Place) run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	var kept []*keptMode
	for _, m := range p.Profile.Binds {
		if m.Target == WorkspaceTarget && m.Writable {
			kept = append(kept, keepMode(m.Source))
		}
	}
	res, err := p.Backend.Run(ctx, p.Profile, c)
	for _, k := range kept {
		if restoreErr := k.restore(); restoreErr != nil && err == nil {
			res.Hints = append(res.Hints, "the mode of "+WorkspaceTarget+" was changed, and is to be as it was before other calls can use it")
		}
	}
	return res, p.namedInside(err)
}

// insideError is an error in which the workspace has the name that programs know: where it lies on the host is not theirs.
type insideError struct {
	error
	text string
}

func (e *insideError) Error() string { return e.text }
func (e *insideError) Unwrap() error { return e.error }

// namedInside renames the workspace in an error's text.
func (p Place) namedInside(err error) error {
	for _, m := range p.Profile.Binds {
		if err != nil && m.Target == WorkspaceTarget && strings.Contains(err.Error(), m.Source) {
			err = &insideError{err, strings.ReplaceAll(err.Error(), m.Source, WorkspaceTarget)}
		}
	}
	return err
}

// keptMode is a directory with its mode before a call. It is the directory itself, whatever is at its path afterwards.
type keptMode struct {
	dir  *os.File
	mode fs.FileMode
}

// modeBits are what chmod changes.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// keepMode returns nil of a directory that cannot be read, which is its owner's word or the backend's to refuse.
func keepMode(dir string) *keptMode {
	f, err := os.Open(dir + "/.") // the dot: nothing but a directory is opened, nor waited for
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.IsDir() {
		f.Close()
		return nil
	}
	return &keptMode{dir: f, mode: info.Mode() & modeBits}
}

// restore gives the directory its mode back.
func (k *keptMode) restore() error {
	if k == nil {
		return nil
	}
	defer k.dir.Close()
	info, err := k.dir.Stat()
	if err != nil || info.Mode()&modeBits == k.mode {
		return err
	}
	return k.dir.Chmod(k.mode)
}
