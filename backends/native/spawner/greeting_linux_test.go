package spawner

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// sayGreeted is a helper: it says whether it would be a spawner. Main has already decided that it is none.
func sayGreeted() error {
	fmt.Println(greeted())
	return nil
}

// An ordinary start of a program that calls Main is never taken for a spawner's, whatever its descriptor 3 is.
func TestGreetedOnlyByAGreeting(t *testing.T) {
	hello := wire.NewHello([32]byte{1})
	bad := wire.Bytes(&hello)
	other := append([]byte{bad[0] ^ 1}, bad[1:]...)
	for name, open := range map[string]func() (theirs, ours int, err error){
		"no descriptor": func() (int, int, error) { return -1, -1, nil },
		"a file": func() (int, int, error) {
			fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			return fd, -1, err
		},
		"a pipe": func() (int, int, error) {
			var p [2]int
			err := unix.Pipe2(p[:], unix.O_CLOEXEC)
			if err == nil {
				_, err = unix.Write(p[1], bad)
			}
			return p[0], p[1], err
		},
		"a stream socket":            func() (int, int, error) { return greet(unix.AF_UNIX, unix.SOCK_STREAM, bad) },
		"a datagram socket":          func() (int, int, error) { return greet(unix.AF_UNIX, unix.SOCK_DGRAM, bad) },
		"a socket without a message": func() (int, int, error) { return greet(unix.AF_UNIX, unix.SOCK_SEQPACKET, nil) },
		"another message":            func() (int, int, error) { return greet(unix.AF_UNIX, unix.SOCK_SEQPACKET, other) },
		"half a greeting":            func() (int, int, error) { return greet(unix.AF_UNIX, unix.SOCK_SEQPACKET, bad[:16]) },
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours, err := open()
			require.NoError(t, err)
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = []string{helperVariable + "=greeted"}
			if theirs >= 0 {
				f := os.NewFile(uintptr(theirs), name)
				defer f.Close()
				cmd.ExtraFiles = []*os.File{f}
			}
			if ours >= 0 {
				defer unix.Close(ours)
			}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, "false\n", string(out))
		})
	}
}

func greet(domain, kind int, message []byte) (theirs, ours int, err error) {
	pair, err := unix.Socketpair(domain, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil && message != nil {
		err = unix.Sendto(pair[1], message, 0, nil)
	}
	return pair[0], pair[1], err
}

// The control of the test above, and the answer to a caller of another build: a fault by name, then the end.
func TestAnotherBuildIsRefused(t *testing.T) {
	hello := wire.NewHello([32]byte{1})
	p, err := startPeer("spawner", wire.Bytes(&hello), nil)
	require.NoError(t, err)
	r := p.reply(t)
	assert.Equal(t, uint32(wire.ReplyFault), r.Kind)
	assert.Equal(t, uint32(wire.StepHello), r.Step)
	assert.Equal(t, uint32(unix.EPROTO), r.Errno)
	require.Error(t, p.cmd.Wait())
	assert.Equal(t, 1, p.cmd.ProcessState.ExitCode())
	require.NoError(t, unix.Close(p.fd))
}

func TestMainIsRemembered(t *testing.T) {
	assert.True(t, Callable(), "TestMain has called Main")
}
