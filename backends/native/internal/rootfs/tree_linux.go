package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
func (t tree) lstat(p string) (status, error) {
	if t.root == "/" { // The same in a third of the system calls.
		var st unix.Stat_t
		if err := restart(func() error { return unix.Lstat(p, &st) }); err != nil {
			return status{}, &fs.PathError{Op: "lstat", Path: p, Err: err}
		}
		return statusOf(&st), nil
	}
	fd, err := t.open(p, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return status{}, err
	}
	defer unix.Close(fd)
	return fstat(fd, p)
}

// resolve follows the links of p within the tree and returns the path inside of what it found.
func (t tree) resolve(p string) (string, status, error) {
	fd, err := t.open(p, unix.O_PATH, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return "", status{}, err
	}
	defer unix.Close(fd)
	info, err := fstat(fd, p)
	if err != nil {
		return "", status{}, err
	}
	real, err := readlinkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd))
	if err != nil {
		return "", status{}, err
	}
	if t.root == "/" {
		return real, info, nil
	}
	inside, ok := strings.CutPrefix(real, t.root)
	if !ok || inside != "" && inside[0] != '/' {
		return "", status{}, &fs.PathError{Op: "resolve", Path: p, Err: errors.New("it moved out of the tree")}
	}
	return path.Join("/", inside), info, nil
}

// readlink returns the text of the link p.
func (t tree) readlink(p string) (string, error) {
	fd, err := t.open(p, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return readlinkat(fd, "")
}

// readDir lists the names in a directory that is no link, sorted.
func (t tree) readDir(p string) ([]string, error) {
	fd, err := t.open(p, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	err = eachEntry(fd, p, func(e dirent) error {
		names = append(names, string(e.name))
		return nil
	})
	slices.Sort(names)
	return names, err
}

// readFile reads a regular file without links on its way, of at most limit bytes. tooLarge tells that it has more.
func (t tree) readFile(p string, limit int64) (data []byte, info status, tooLarge bool, err error) {
	// O_NONBLOCK: should the file be a pipe by now, the open returns and the type is refused.
	fd, err := t.open(p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, status{}, false, err
	}
	defer unix.Close(fd)
	info, err = fstat(fd, p)
	if err != nil {
		return nil, status{}, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, status{}, false, &fs.PathError{Op: "read", Path: p, Err: errors.New("it is no regular file")}
	}
	if info.size > limit {
		return nil, info, true, nil
	}
	data = make([]byte, info.size+1)
	n, err := readFull(fd, p, data)
	if err != nil {
		return nil, status{}, false, err
	}
	if n == len(data) {
		return nil, status{}, false, &fs.PathError{Op: "read", Path: p, Err: errors.New("it grows")}
	}
	return data[:n:n], info, false, nil
}

// maxTries is how often an open is repeated that others' renames disturb.
const maxTries = 128

// open returns a descriptor, which is the caller's to close. No os.File is made: some of these are opened for each part
// of an image, and the poller has nothing to do with any of them.
func (t tree) open(p string, flags, resolve uint64) (fd int, err error) {
	rel := strings.TrimPrefix(p, "/")
	if rel == "" {
		rel = "."
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_MAGICLINKS}
	// A rename or a mount anywhere at the same moment makes the kernel unsure of a ".." (openat2(2), EAGAIN).
	for try := 0; try == 0 || errors.Is(err, unix.EAGAIN) && try < maxTries; try++ {
		err = restart(func() (err error) {
			fd, err = unix.Openat2(int(t.dir.Fd()), rel, &how)
			return err
		})
	}
	if err != nil {
		return -1, &fs.PathError{Op: "openat2", Path: p, Err: err}
	}
	return fd, nil
}

// isNotExist reports whether a path, followed as the kernel would, leads to nothing.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
