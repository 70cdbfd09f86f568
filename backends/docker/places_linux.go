package docker

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

// places returns what is at the mounts' sources, which are free of symbolic links, so that init can tell whether it is what
// the engine mounted: a bind mount has its source's device and inode numbers.
func places(mounts []sandbox.Mount) ([]frame.Place, error) {
	var out []frame.Place
	for _, m := range mounts {
		st, err := statResolved(m.Source)
		if err != nil {
			return nil, &sandbox.Error{
				Kind: sandbox.KindRefused, Op: "mount " + strconv.Quote(m.Source), Guarantee: sandbox.FSNoHostFiles, Cause: err,
				Fix: "mount a directory whose parents only the caller can change",
			}
		}
		out = append(out, frame.Place{Path: []byte(m.Target), Dev: uint64(st.Dev), Ino: st.Ino})
	}
	return out, nil
}

// statResolved is stat of a path that has no symbolic link in it. One that has got one since is an error: what is there
// was not checked.
func statResolved(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return st, fmt.Errorf("open: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return st, fmt.Errorf("stat: %w", err)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if err != nil {
		return st, fmt.Errorf("read its path: %w", err)
	}
	if string(buf[:n]) != path {
		return st, errors.New("it was exchanged for another while it was checked")
	}
	return st, nil
}
