package tools

import (
	"errors"
	"io/fs"
	"os"
)

var errNotRegular = errors.New("it is no regular file")

// openRegular opens a regular file inside root for reading and returns what it is. Whatever else a program left under the
// name is an error, and never waited for.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// openDir opens a directory inside root. The dot makes the kernel ask for a directory; without it [os.Root.OpenRoot] waits
// for the other end of a pipe of that name (Go 1.26, os/root_unix.go).
func openDir(root *os.Root, name string) (*os.Root, error) { return root.OpenRoot(name + "/.") }
