package rootfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// status is what stat(2) says that matters to an image.
type status struct {
	mode fs.FileMode
	size int64
}

// Mode returns the permission bits and the type; whatever is no file, directory or link is irregular.
func (s status) Mode() fs.FileMode { return s.mode }

// IsDir reports whether it is a directory.
func (s status) IsDir() bool { return s.mode.IsDir() }

func statusOf(st *unix.Stat_t) status {
	mode := fs.FileMode(st.Mode & 0o777)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	return status{mode: mode, size: st.Size}
}

// restart repeats f as long as a signal interrupts it; network file systems answer some calls so.
func restart(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func fstat(fd int, name string) (status, error) {
	var st unix.Stat_t
	if err := restart(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return status{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return statusOf(&st), nil
}

// readlinkat returns the text of a link.
func readlinkat(dir int, name string) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	if n == len(buf) {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: unix.ENAMETOOLONG}
	}
	return string(buf[:n]), nil
}

// readFull reads until buf is full or the file ends.
func readFull(fd int, name string, buf []byte) (n int, err error) {
	for n < len(buf) {
		var got int
		err := restart(func() (err error) { got, err = unix.Read(fd, buf[n:]); return err })
		if err != nil {
			return n, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if got == 0 {
			break
		}
		n += got
	}
	return n, nil
}

// dirent is an entry of a directory. The name is valid until the function that got it returns.
type dirent struct {
	name []byte
	kind byte // DT_LNK and so on (readdir(3)); DT_UNKNOWN where the file system does not tell
}

// The fields of struct linux_dirent64 (getdents64(2)): its size, its type and its name, which ends with a zero.
const (
	direntSize = 16
	direntType = 18
	direntName = 19
)

// direntBuffer is the room for one getdents64(2).
const direntBuffer = 4 << 10

// eachEntry calls do with every entry of a directory but itself and its parent, in no order.
func eachEntry(fd int, name string, do func(dirent) error) error {
	buf := make([]byte, direntBuffer)
	for {
		var n int
		err := restart(func() (err error) { n, err = unix.Getdents(fd, buf); return err })
		if err != nil {
			return &fs.PathError{Op: "readdir", Path: name, Err: err}
		}
		if n == 0 {
			return nil
		}
		for rest := buf[:n]; len(rest) > 0; {
			size := binary.NativeEndian.Uint16(rest[direntSize:])
			e := dirent{name: untilZero(rest[direntName:size]), kind: rest[direntType]}
			rest = rest[size:]
			if string(e.name) == "." || string(e.name) == ".." {
				continue
			}
			if err := do(e); err != nil {
				return err
			}
		}
	}
}

func untilZero(b []byte) []byte {
	before, _, _ := bytes.Cut(b, []byte{0})
	return before
}
