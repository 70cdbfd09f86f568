package helper

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denyExec keeps programs below the given paths from being executed by whatever this thread starts from now on. Engines
// have no bind mount without execution, so Landlock does it: everything may be executed but what lies below. The
// goroutine stays on its thread for ever, since the thread stays restricted.
func denyExec(paths []string) error {
	runtime.LockOSThread()
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	r := ruleset{handled: unix.LANDLOCK_ACCESS_FS_EXECUTE}
	if abi >= 2 {
		// Renames and links across directories are forbidden unless they are handled and allowed (landlock(7)).
		r.handled |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if err := r.open(); err != nil {
		return err
	}
	defer syscall.Close(r.fd)
	if abi >= 2 {
		if err := r.allow("/", unix.LANDLOCK_ACCESS_FS_REFER); err != nil {
			return err
		}
	}
	if err := r.allowAround("/", paths); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// ruleset is a Landlock ruleset being made.
type ruleset struct {
	handled uint64
	fd      int
}

func (r *ruleset) open() error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: r.handled}
	// Only the first field: the kernel takes a shorter structure, and older ones refuse a longer.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	r.fd = int(fd)
	return nil
}

// allow adds a rule for what lies below path.
func (r *ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_add_rule", errno)
	}
	return nil
}

// allowAround allows execution in everything below dir but the denied paths. What leads to one is entered; what is made
// beside it later is in no rule, and so not executed either.
func (r *ruleset) allowAround(dir string, denied []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		leads := slices.ContainsFunc(denied, func(d string) bool { return strings.HasPrefix(d, p+"/") })
		switch {
		case slices.Contains(denied, p), e.Type()&os.ModeSymlink != 0: // a link's target has a place of its own
		case leads:
			err = r.allowAround(p, denied)
		default:
			err = r.allow(p, unix.LANDLOCK_ACCESS_FS_EXECUTE)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
