// Package probe finds out what the running kernel can, by trying. It compares no version numbers, and it asks again each
// time: an outer filter may take away what was there a moment ago.
//
// What needs a namespace to be tried is not here; starting a spawner and rehearsing a call try that.
package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
)

// Kernel returns what the plan's compiler has to know.
func Kernel() (confine.Kernel, error) {
	last, err := lastCapability()
	if err != nil {
		return confine.Kernel{}, err
	}
	k := confine.Kernel{LastCap: last, CPUs: max(runtime.NumCPU(), 1024)}
	k.MaskedDirs, k.MaskedFiles = rootfs.MaskedProc()
	k.ReadonlyProc = rootfs.ReadonlyProc()
	Refresh(&k)
	return k, nil
}

// Refresh asks again for what an outer filter can take away from one moment to the next.
func Refresh(k *confine.Kernel) {
	k.NewMountAPI = newMountAPI()
	k.Landlock, _ = Landlock() // 0 with an error: the report has the reason
}

// newMountAPI calls each part with arguments that it refuses. A kernel or a filter without it answers something else.
// Three of them look at privileges first (fs/fsopen.c, fs/namespace.c), so only their ENOSYS is sure.
func newMountAPI() bool {
	empty := [1]byte{}
	path := uintptr(unsafe.Pointer(&empty))
	const none, flags = ^uintptr(0), uintptr(1) << 30
	for _, c := range []struct {
		nr, a0, a1, a2, a3, a4 uintptr
		want                   []unix.Errno
	}{
		{unix.SYS_OPEN_TREE, none, path, unix.AT_EMPTY_PATH, 0, 0, []unix.Errno{unix.EBADF}},
		{unix.SYS_MOUNT_SETATTR, none, path, unix.AT_EMPTY_PATH, 0, 0, []unix.Errno{unix.EINVAL}},
		{unix.SYS_FSCONFIG, 0, 0, 0, 0, 0, []unix.Errno{unix.EINVAL}},
		{unix.SYS_FSOPEN, 0, flags, 0, 0, 0, []unix.Errno{unix.EPERM, unix.EINVAL}},
		{unix.SYS_FSMOUNT, none, flags, 0, 0, 0, []unix.Errno{unix.EPERM, unix.EINVAL}},
		{unix.SYS_MOVE_MOUNT, none, path, none, path, flags, []unix.Errno{unix.EPERM, unix.EINVAL}},
	} {
		if _, _, errno := unix.RawSyscall6(c.nr, c.a0, c.a1, c.a2, c.a3, c.a4, 0); !slices.Contains(c.want, errno) {
			return false
		}
	}
	return true
}

// HardLimits returns this process's hard limits on what a plan limits, which its spawners inherit.
func HardLimits() (map[int]uint64, error) {
	out := make(map[int]uint64)
	for _, r := range confine.Bounded() {
		var l unix.Rlimit
		if err := unix.Prlimit(0, r, nil, &l); err != nil {
			return nil, fmt.Errorf("prlimit: %w", err)
		}
		out[r] = l.Max
	}
	return out, nil
}

// signalErratum is the bit that says that the scope for signals works between the threads of a process; without it the
// version counts as 5, as go-landlock has it (Documentation/userspace-api/landlock.rst, "Errata").
const signalErratum = 0x2

// Landlock returns the version that can be relied on, and an error with the reason when there is none.
func Landlock() (int, error) {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	if v < 1 {
		return 0, errors.New("landlock_create_ruleset: no version")
	}
	if v >= 6 {
		if errata, err := ll.LandlockGetErrata(); err != nil || errata&signalErratum == 0 {
			v = 5
		}
	}
	return v, nil
}

func lastCapability() (int, error) {
	data, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return 0, fmt.Errorf("find the last capability: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || n < 0 || n > 63 {
		return 0, fmt.Errorf("find the last capability: %q is no number of one", data)
	}
	return n, nil
}
