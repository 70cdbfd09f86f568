package native

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/spawner"
)

// spawnerName is the spawner's program beside an executable.
const spawnerName = "toolcell-init"

// openSpawner opens the spawner's program: the configured one, the one beside this executable, or this program itself
// when it has called spawner.Main. PATH is never searched. The file is opened once and executed by its descriptor, so
// what was checked is what runs.
func openSpawner(configured string) (*os.File, error) {
	if configured != "" {
		return openProgram(configured)
	}
	if self, err := os.Executable(); err == nil {
		f, err := openProgram(filepath.Join(filepath.Dir(self), spawnerName))
		if !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
	}
	if spawner.Callable() {
		return openSelf()
	}
	return nil, errors.New("no spawner: no path is configured, " + spawnerName + " is not beside this program, and it does not call spawner.Main")
}

// openSelf opens the running program. Its link in /proc works even when the file was replaced or removed.
func openSelf() (*os.File, error) { return openAbove("/proc/self/exe") }

func openProgram(path string) (*os.File, error) {
	f, err := openAbove(path)
	if err != nil {
		return nil, err
	}
	if err := checkProgram(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("spawner %s: %w", path, err)
	}
	return f, nil
}

// checkProgram refuses a program that others than root and the caller can change.
func checkProgram(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case st.Mode&0o022 != 0:
		return fmt.Errorf("mode %#o lets others write to it; chmod go-w it", st.Mode&0o7777)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("owned by uid %d, which is neither root nor the caller", st.Uid)
	}
	return nil
}

// firstFree is above the descriptors that a child's ExtraFiles are put on, where this one would be overwritten.
const firstFree = 64

// openAbove opens a file at a descriptor of firstFree or more.
func openAbove(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, firstFree)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMFILE) {
		// fcntl(2): EINVAL says that the limit is below firstFree, EMFILE that everything up to it is taken.
		return nil, unavailable("find the spawner", os.NewSyscallError("fcntl", err), "raise the limit on open files (RLIMIT_NOFILE, ulimit -n); 1024 is enough for most callers")
	}
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), path), nil
}
