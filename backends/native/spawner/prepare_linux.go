package spawner

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/internal/signals"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// processName is how ps(1) shows spawners and inits.
const processName = "toolcell-init"

// stepError is a failed step of the spawner's own start, by its number in the protocol.
type stepError struct {
	step uint32
	err  error
}

// Error returns the cause.
func (e *stepError) Error() string { return fmt.Sprintf("step %d: %v", e.step, e.err) }

// prepare makes the fresh process a spawner: it takes the greeting, gives up what it does not need and gets a /proc of
// its own process namespace, which it needs to write its children's identity maps.
func prepare() *stepError {
	for _, s := range []struct {
		step uint32
		do   func() error
	}{
		{wire.StepHello, takeGreeting},
		{wire.StepSignals, resetIgnoredSignals},
		{wire.StepPropagation, stopPropagation},
		{wire.StepProc, mountProc},
		{wire.StepIdentity, takeIdentity},
		{wire.StepNoNewPrivs, noNewPrivs},
	} {
		if err := s.do(); err != nil {
			return &stepError{step: s.step, err: err}
		}
	}
	return nil
}

func takeGreeting() error {
	var h wire.Hello
	n, _, err := unix.Recvfrom(wire.SocketFD, wire.Bytes(&h), 0)
	if err != nil {
		return err
	}
	if n != len(wire.Bytes(&h)) || h.Check(wire.Build()) != nil {
		return unix.EPROTO
	}
	unix.CloseOnExec(wire.SocketFD)
	unix.CloseOnExec(wire.CallerFD)
	// It was executed by a descriptor, whose number the kernel takes for the name. Every sandbox's init inherits it.
	name, err := unix.BytePtrFromString(processName)
	if err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
}

// resetIgnoredSignals undoes what a caller such as nohup left: CLONE_CLEAR_SIGHAND (clone(2)) gives back the default
// only to signals with a handler, an ignored one stays ignored in every sandbox.
func resetIgnoredSignals() error { return signals.Unignore() }

// noNewPrivs keeps the spawner from gaining anything through a program it might be made to run. It runs none.
func noNewPrivs() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	// The change of user id made the process non-dumpable, and its /proc files root's; its children's maps are among
	// them. PR_SET_DUMPABLE(2const).
	return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
}

// stopPropagation cuts the copy of the host's mounts off from the host: nothing mounted here is seen there, nor the
// other way round.
func stopPropagation() error {
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// mountProc covers the host's /proc in this namespace. The kernel refuses it (EPERM) when the one that is there is
// partly covered, as in a container; mount_too_revealing() in fs/namespace.c.
func mountProc() error {
	return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// memfdSysctl makes memfds without an explicit flag not executable, in this process namespace and those below it
// (Linux 6.3). Its file belongs to the host's root, so only a spawner that still has that id can write it.
const memfdSysctl = "/proc/sys/vm/memfd_noexec"

// takeIdentity changes from the host's root, under which a root caller starts its spawner, to the spawner's own id. An
// ordinary user's spawner has it already. The host's root is not mapped here, so it shows as an id that is not 0.
func takeIdentity() error {
	if unix.Geteuid() == 0 {
		return nil
	}
	// Whether this works is told to the caller (memfdNoexec), whose report says what follows.
	_ = os.WriteFile(memfdSysctl, []byte("1"), 0)
	// The standard library's sets the groups of every thread, as the two below do with the ids.
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := unix.Setresgid(0, 0, 0); err != nil {
		return err
	}
	return unix.Setresuid(0, 0, 0)
}

// memfdNoexec reports whether memfds are not executable here.
func memfdNoexec() bool {
	data, err := os.ReadFile(memfdSysctl)
	return err == nil && len(data) > 0 && data[0] >= '1'
}
