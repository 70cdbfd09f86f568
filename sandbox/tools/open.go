package tools

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

var errNotRegular = errors.New("it is no regular file")

// openRegular opens a regular file inside root for reading and returns its size. Whatever else a program left under the
// name is an error, and never waited for.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// openDir opens a directory inside root. The dot makes the kernel ask for a directory; without it [os.Root.OpenRoot] waits
// for the other end of a pipe of that name (Go 1.26, os/root_unix.go).
func openDir(root *os.Root, name string) (*os.Root, error) { return root.OpenRoot(name + "/.") }

// tree is a Root for [fs.WalkDir]: it opens directories and nothing else, and reads no more than one name beyond most
// of each.
type tree struct {
	*os.Root
	most int
}

// Open implements [fs.FS].
func (t tree) Open(name string) (fs.File, error) { return t.Root.Open(name + "/.") }

// ReadDir implements [fs.ReadDirFS].
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := t.Root.Open(name + "/.")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(t.most + 1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

func joinHost(dir, name string) string { return filepath.Join(dir, name) }
