package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/soulacy/toolcell/sandbox"
)

// spot is a place below one of the roots. Everything done through its Root stays inside, whatever links there are and
// whoever changes them meanwhile.
type spot struct {
	*os.Root
	// name is the path below the root; "." is the root itself.
	name string
	// asked is what the call said.
	asked string
	// protected is [Tools].Protected.
	protected []string
}

// maxPath is how long a path may be, in bytes: the kernel's PATH_MAX. A Root follows a path name by name, without a limit
// of its own.
const maxPath = 4096

// roots are the directories that file tools stay inside.
func (t Tools) roots() []string {
	if len(t.Roots) > 0 || t.Workspace == "" {
		return t.Roots
	}
	return []string{t.Workspace}
}

// locate finds the root that a path of a call belongs to. A relative path belongs to the first; "~/" is the home
// directory, and WorkspaceTarget the workspace, as programs see it. The caller closes the spot.
func (t Tools) locate(tool Name, asked string) (spot, error) {
	if asked == "" || len(asked) > maxPath || strings.ContainsRune(asked, 0) {
		return spot{}, sandbox.Invalid(string(tool), "%q is no path", short(asked))
	}
	roots := t.roots()
	if len(roots) == 0 {
		return spot{}, refused(string(tool), "there is no workspace")
	}
	p, err := t.hostPath(asked)
	if err != nil {
		return spot{}, outside(tool, asked, err)
	}
	if !filepath.IsAbs(p) {
		return t.enterRoot(tool, roots[0], p, asked)
	}
	for _, dir := range roots {
		if name, ok := below(dir, p); ok {
			return t.enterRoot(tool, dir, name, asked)
		}
	}
	return spot{}, outside(tool, asked, nil)
}

// hostPath is the path of the host that a call means.
func (t Tools) hostPath(asked string) (string, error) {
	if rest, ok := strings.CutPrefix(asked, "~/"); ok {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if clean := path.Clean(asked); t.Workspace != "" && !t.rooted(asked) {
		if clean == WorkspaceTarget {
			return t.Workspace, nil
		}
		if rest, ok := strings.CutPrefix(clean, WorkspaceTarget+"/"); ok {
			return filepath.Join(t.Workspace, rest), nil
		}
	}
	return filepath.FromSlash(asked), nil
}

// rooted reports whether a root of the host has that path, so that it means no directory of the sandbox.
func (t Tools) rooted(p string) bool {
	for _, dir := range t.roots() {
		if _, ok := below(dir, p); ok {
			return true
		}
	}
	return false
}

// below returns p as seen from dir, when it lies there by its text: under the directory's own name or under the one
// that its links lead to.
func below(dir, p string) (string, bool) {
	if dir == "" || p == "" {
		return "", false
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir
	}
	for _, d := range []string{dir, real} {
		if name, err := filepath.Rel(d, p); err == nil && filepath.IsLocal(name) {
			return name, true
		}
	}
	return "", false
}

// enterRoot opens the root of a path. Programs make links in the workspace: what lies there is kept inside the workspace,
// also where the root is larger.
func (t Tools) enterRoot(tool Name, dir, name, asked string) (spot, error) {
	if !filepath.IsLocal(name) {
		return spot{}, outside(tool, asked, nil)
	}
	if ws, ok := below(dir, t.Workspace); ok {
		if rest, err := filepath.Rel(ws, name); err == nil && filepath.IsLocal(rest) {
			dir, name = t.Workspace, rest
		}
	}
	root, err := t.openRoot(dir)
	if err != nil {
		return spot{}, &sandbox.Error{Kind: sandbox.KindUnavailable, Op: string(tool), Cause: fmt.Errorf("open the workspace: %w", err)}
	}
	return spot{Root: root, name: filepath.Clean(name), asked: asked, protected: t.Protected}, nil
}

// openRoot opens a root. One that lies in the workspace is opened through it, since a program can put a link in its place.
func (t Tools) openRoot(dir string) (*os.Root, error) {
	name, ok := below(t.Workspace, dir)
	if !ok || name == "." {
		return os.OpenRoot(dir)
	}
	ws, err := os.OpenRoot(t.Workspace)
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	return openDir(ws, name)
}

// outside is the refusal of a path that no root holds.
func outside(tool Name, asked string, cause error) error {
	e := &outsideError{path: short(asked), cause: cause}
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: string(tool), Cause: e, Fix: "use a path below the workspace"}
}

type outsideError struct {
	path  string
	cause error
}

func (e *outsideError) Error() string {
	return fmt.Sprintf("filesystem access denied for %q: outside configured workspace roots", e.path)
}

func (e *outsideError) Unwrap() error { return e.cause }

// fault makes the error of an access through a Root. What the kernel answered is the call's own mistake; any other
// failure is the Root's own, that a link leads out.
func (s spot) fault(tool Name, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return outside(tool, s.asked, err)
	}
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: string(tool), Cause: fmt.Errorf("%q: %w", short(s.asked), errno)}
}

func (s spot) invalid(tool Name, why string) error {
	return sandbox.Invalid(string(tool), "%q: %s", short(s.asked), why)
}

// checkFile refuses what can only be the name of a directory: cleaned, "x/" would be the file x.
func (s spot) checkFile(tool Name) error {
	switch last := s.asked[len(s.asked)-1]; {
	case s.name == ".":
		return s.invalid(tool, "it is a directory")
	case os.IsPathSeparator(last) || last == '/' || last == '.' && filepath.Base(s.name) != filepath.Base(s.asked):
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: string(tool), Cause: fmt.Errorf("%q is the name of a directory", short(s.asked)),
			Fix: "end the path with the file's name, without a slash behind it",
		}
	}
	return nil
}

// checkProtected refuses a file that is one of the protected, by whatever name.
func (s spot) checkProtected(tool Name, file fs.FileInfo) error {
	for _, p := range s.protected {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || os.SameFile(info, file) {
			return &sandbox.Error{
				Kind: sandbox.KindRefused, Op: string(tool), Cause: fmt.Errorf("%q is the operator's", short(s.asked)), Fix: "use another file",
			}
		}
	}
	return nil
}
