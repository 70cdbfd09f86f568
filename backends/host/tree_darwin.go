package host

import (
	"errors"
	"os"
	"syscall"
)

// survivors is why life.no-survivors is absent.
const survivors = "the program's process group is killed, and whatever leaves the group survives"

// self is this program.
func self() (string, error) { return os.Executable() }

// adoptOrphans: macOS has no such thing; orphans go to launchd.
func adoptOrphans() error { return nil }

// programAttributes give the program a session, and so a process group, of its own.
func programAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func closeRangeOnExec() error { return errors.ErrUnsupported }

// killTree kills the program's group.
func killTree(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

// groupLeft kills what the program has left in its group and reports whether something is still there.
func (s *supervisor) groupLeft() bool {
	killTree(s.pid)
	return syscall.Kill(-s.pid, syscall.SIGKILL) == syscall.EPERM
}
