package rootfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is a root directory that is looked at as if it were /: no symbolic link leads out of it.
type tree struct {
	dir *os.File
	// root is the real path of the directory.
	root string
}

func openTree(root string) (tree, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return tree{}, err
	}
	fd, err := unix.Open(real, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return tree{}, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	return tree{dir: os.NewFile(uintptr(fd), real), root: real}, nil
}

func (t tree) Close() error { return t.dir.Close() }

// outside returns the host path of a path inside that has no symbolic links.
func (t tree) outside(inside string) string { return path.Join(t.root, inside) }

// lstat describes p itself, a link included. The directories above it are followed within the tree.
func (t tree) lstat(p string) (fs.FileInfo, error) {
	if t.root == "/" {
		return os.Lstat(p) // The same in a third of the system calls.
	}
	f, err := t.open(p, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// resolve follows the links of p within the tree and returns the path inside of what it found.
func (t tree) resolve(p string) (string, fs.FileInfo, error) {
	f, err := t.open(p, unix.O_PATH, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", nil, err
	}
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return "", nil, err
	}
	if t.root == "/" {
		return real, info, nil
	}
	inside, ok := strings.CutPrefix(real, t.root)
	if !ok || inside != "" && inside[0] != '/' {
		return "", nil, &fs.PathError{Op: "resolve", Path: p, Err: errors.New("it moved out of the tree")}
	}
	return path.Join("/", inside), info, nil
}

// readlink returns the text of the link p.
func (t tree) readlink(p string) (string, error) {
	f, err := t.open(p, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: err}
	}
	return string(buf[:n]), nil
}

// readDir lists a directory that is no link, sorted by name.
func (t tree) readDir(p string) ([]os.DirEntry, error) {
	f, err := t.open(p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// readFile reads a regular file without links on its way, of at most limit bytes. tooLarge tells that it has more.
func (t tree) readFile(p string, limit int64) (data []byte, info fs.FileInfo, tooLarge bool, err error) {
	// O_NONBLOCK: should the file be a pipe by now, the open returns and the type is refused.
	f, err := t.open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, nil, false, err
	}
	defer f.Close()
	info, err = f.Stat()
	if err != nil {
		return nil, nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, false, &fs.PathError{Op: "read", Path: p, Err: errors.New("it is no regular file")}
	}
	if info.Size() > limit {
		return nil, info, true, nil
	}
	data = make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, data)
	if err == nil {
		return nil, nil, false, &fs.PathError{Op: "read", Path: p, Err: errors.New("it grows")}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, false, err
	}
	return data[:n:n], info, false, nil
}

// maxTries is how often an open is repeated that others' renames disturb.
const maxTries = 128

func (t tree) open(p string, flags, resolve uint64) (*os.File, error) {
	rel := strings.TrimPrefix(p, "/")
	if rel == "" {
		rel = "."
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(t.dir.Fd()), rel, &how)
	// A rename or a mount anywhere at the same moment makes the kernel unsure of a ".." (openat2(2), EAGAIN).
	for tries := 0; errors.Is(err, unix.EAGAIN) && tries < maxTries; tries++ {
		fd, err = unix.Openat2(int(t.dir.Fd()), rel, &how)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "openat2", Path: p, Err: err}
	}
	return os.NewFile(uintptr(fd), p), nil
}

// isNotExist reports whether a path, followed as the kernel would, leads to nothing.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
