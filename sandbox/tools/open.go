package tools

import (
	"errors"
	"os"
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
