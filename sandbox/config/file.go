package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// maxFile is the most bytes that a file may have.
const maxFile = 1 << 20

// readFile reads a regular file of at most maxFile bytes. trusted files may be written by root and the caller alone.
// What is looked at is what is read.
func readFile(name string, trusted bool) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fileError{"it is no regular file", "name a file; what comes from a pipe has to be written to one first"}
	}
	if trusted {
		if err := checkOwnership(info, os.Geteuid()); err != nil {
			return nil, err
		}
	}
	// Some of what calls itself regular waits for what is not there yet (/proc/kmsg). Other files have no deadline.
	if err := f.SetReadDeadline(time.Now().Add(readTime)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return nil, err
	}
	return readBounded(f)
}

// fileError is what is wrong with a file, and what to do about it.
type fileError struct{ cause, fix string }

func (e *fileError) Error() string { return e.cause }

// readTime is how long a file may keep its reader waiting.
const readTime = 5 * time.Second

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errTooLarge
	}
	return data, err
}

var errTooLarge = &fileError{fmt.Sprintf("it is larger than %d bytes", maxFile), "make it smaller, or name the right file"}

// checkOwnership refuses a file that somebody else than root and the caller can have written. A POSIX access list that
// lets others write shows in the group's bits (acl(5), "correspondence between ACL entries and file permission bits").
func checkOwnership(info fs.FileInfo, caller int) error {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return &fileError{fmt.Sprintf("others may write it (mode %04o), and it can hold waivers", info.Mode().Perm()), "chmod go-w it"}
	}
	if uid, ok := owner(info); ok && uid != 0 && uid != caller {
		return &fileError{
			fmt.Sprintf("it belongs to uid %d, which is neither root nor the caller, and it can hold waivers", uid),
			fmt.Sprintf("look at what it says, and make it root's or your own: chown %d it", caller),
		}
	}
	return nil
}
