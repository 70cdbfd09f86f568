package signals

import (
	"os/exec"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What was ignored before is not ignored in what is started afterwards. The Go runtime resets in a child what it handles
// itself; the two signals that it leaves alone are the control.
func TestUnignore(t *testing.T) {
	for _, sig := range []int{32, 33} {
		act := sigaction{handler: sigIgn}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
		require.Zero(t, errno)
	}
	ignored := func() string {
		out, err := exec.Command("grep", "SigIgn", "/proc/self/status").Output()
		require.NoError(t, err)
		return string(out)
	}
	assert.Equal(t, "SigIgn:\t0000000180000000\n", ignored(), "the control")
	require.NoError(t, Unignore())
	assert.Equal(t, "SigIgn:\t0000000000000000\n", ignored())
}
