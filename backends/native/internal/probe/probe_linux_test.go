package probe

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
)

// hiddenVariable lists the system calls that a helper hides from itself before it probes, and the errno they give.
const hiddenVariable = "TOOLCELL_TEST_PROBE_HIDDEN"

type hidden struct {
	Calls []int
	Errno int
}

func TestMain(m *testing.M) {
	if arg := os.Getenv(hiddenVariable); arg != "" {
		os.Exit(help(arg))
	}
	os.Exit(m.Run())
}

func help(arg string) int {
	var h hidden
	runtime.LockOSThread()
	if json.Unmarshal([]byte(arg), &h) != nil || hide(h) != nil {
		return 2
	}
	k, err := Kernel()
	if err != nil || json.NewEncoder(os.Stdout).Encode(k) != nil {
		return 3
	}
	return 0
}

// hide installs a filter on this thread.
func hide(h hidden) error {
	const allow = 0x7fff0000 // SECCOMP_RET_ALLOW
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, c := range h.Calls {
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(c)},
			unix.SockFilter{Code: unix.BPF_RET, K: 0x00050000 | uint32(h.Errno)}) // SECCOMP_RET_ERRNO
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET, K: allow})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, 1, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return errno
	}
	return nil
}

// under probes in a process without some calls; as root or not.
func under(t *testing.T, h hidden, root bool) confine.Kernel {
	t.Helper()
	arg, err := json.Marshal(h)
	require.NoError(t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{hiddenVariable + "=" + string(arg)}
	cmd.Stderr = os.Stderr
	if !root && os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	var k confine.Kernel
	require.NoError(t, json.Unmarshal(out, &k))
	return k
}

func TestHiddenParts(t *testing.T) {
	if !newMountAPI() {
		require.NotEqual(t, "1", os.Getenv("TOOLCELL_TEST_REQUIRE"), "no new mount API")
		t.Skip("this kernel has no new mount API to be hidden")
	}
	for _, root := range []bool{true, false} {
		free := under(t, hidden{}, root)
		assert.True(t, free.NewMountAPI, "privileges make no difference")
		for _, call := range []int{
			unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_FSCONFIG, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOVE_MOUNT,
		} {
			k := under(t, hidden{Calls: []int{call}, Errno: int(unix.ENOSYS)}, root)
			assert.False(t, k.NewMountAPI, "without call %d", call)
			assert.Equal(t, free.Landlock, k.Landlock)
		}
		all := []int{unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_FSCONFIG, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_MOVE_MOUNT}
		assert.False(t, under(t, hidden{Calls: all, Errno: int(unix.EPERM)}, root).NewMountAPI)
		for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP} {
			k := under(t, hidden{Calls: []int{unix.SYS_LANDLOCK_CREATE_RULESET}, Errno: int(errno)}, root)
			assert.Zero(t, k.Landlock, errno.Error())
			assert.True(t, k.NewMountAPI)
		}
	}
}

func TestKernel(t *testing.T) {
	k, err := Kernel()
	require.NoError(t, err)
	data, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	require.NoError(t, err)
	assert.Equal(t, string(data), strconv.Itoa(k.LastCap)+"\n")
	// By trying: the bounding set can be asked for the last one and not for the next.
	last, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(k.LastCap), 0, 0, 0)
	require.NoError(t, err)
	assert.Contains(t, []int{0, 1}, last)
	_, err = unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(k.LastCap+1), 0, 0, 0)
	require.ErrorIs(t, err, unix.EINVAL)
	assert.GreaterOrEqual(t, k.CPUs, runtime.NumCPU())
	for _, p := range slices.Concat(k.MaskedDirs, k.MaskedFiles, k.ReadonlyProc) {
		_, err := os.Lstat(p)
		assert.NoError(t, err)
	}
	assert.Contains(t, k.ReadonlyProc, "/proc/sys")
}

// The version that is relied on is the kernel's, or 5 where signals between threads would be stopped.
func TestLandlock(t *testing.T) {
	v, err := Landlock()
	raw, rawErr := ll.LandlockGetABIVersion()
	if rawErr != nil {
		require.Error(t, err)
		assert.Zero(t, v)
		return
	}
	require.NoError(t, err)
	if v != raw {
		assert.Equal(t, 5, v)
		assert.Greater(t, raw, 5)
	}
}

func TestRefresh(t *testing.T) {
	k, err := Kernel()
	require.NoError(t, err)
	stale := k
	stale.NewMountAPI, stale.Landlock = !k.NewMountAPI, 99
	Refresh(&stale)
	assert.Equal(t, k, stale)
}
