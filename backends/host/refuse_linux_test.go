package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// again runs the named test in a process of its own, with a variable that tells it so.
func again(t *testing.T, variable, value string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+value)
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, string(out))
}

// A limit that cannot be set refuses the call: the program does not run with less.
func TestLimitThatCannotBeSet(t *testing.T) {
	marker := os.Getenv("TEST_NO_SETRLIMIT")
	if marker == "" {
		marker = filepath.Join(t.TempDir(), "marker")
		again(t, "TEST_NO_SETRLIMIT", marker)
		assert.FileExists(t, marker, "without limits it runs")
		return
	}
	denySetrlimit(t)
	limited := open(t, Limits)
	_, err := limited.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"touch", marker}})
	var e *sandbox.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, sandbox.KindSetup, e.Kind)
	assert.Equal(t, sandbox.LimitCPUTime, e.Guarantee)
	assert.ErrorIs(t, err, unix.EPERM)
	assert.NoFileExists(t, marker)

	report, err := limited.Ready(context.Background(), sandbox.ContainerProfile{})
	require.ErrorIs(t, err, unix.EPERM)
	assert.Len(t, report, len(sandbox.Guarantees()), "the report is complete either way")

	_, err = open(t, Unsandboxed).Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"touch", marker}})
	require.NoError(t, err)
}

// denySetrlimit makes setting a limit fail with EPERM on this thread and on what it starts; asking for one goes on.
func denySetrlimit(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	const newLimit = 16 + 8*2 // the lower half of the third argument in struct seccomp_data (seccomp(2))
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PRLIMIT64, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: newLimit},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	require.NoError(t, unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
}

// A value of the environment is neither on a command line nor in the supervisor's own environment.
func TestValuesAreNowhereElse(t *testing.T) {
	c := sh(`tr '\0' ' ' </proc/$PPID/cmdline; echo; cat /proc/$PPID/environ; echo end`)
	c.Env = []string{"TOKEN=s3cret"}
	r := run(t, sandbox.ContainerProfile{}, c)
	assert.NotContains(t, string(r.Stdout), "s3cret")
	assert.Contains(t, string(r.Stdout), supervisorWord+" \nend\n")
}

// Without a program that can supervise, nothing is opened.
func TestWithoutASupervisor(t *testing.T) {
	called.Store(false)
	defer called.Store(true)
	for _, mode := range []Mode{Limits, Unsandboxed} {
		_, err := Open(Config{Mode: mode})
		require.ErrorIs(t, err, sandbox.ErrUnavailable)
		assert.ErrorContains(t, err, "host.Main()")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := Open(Config{Mode: Limits, Program: self})
	require.NoError(t, err)
	r, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sh("echo hi"))
	require.NoError(t, err)
	assert.Equal(t, "hi\n", string(r.Stdout))
}

// An ordinary user's call works alike, and its leftovers die too. What has become another user's cannot be killed, and
// the call says so.
func TestOrdinaryUser(t *testing.T) {
	if os.Getenv("TEST_ORDINARY") != "" {
		asOrdinaryUser(t)
		return
	}
	if os.Geteuid() != 0 {
		return // every other test is that
	}
	dir, err := os.MkdirTemp("/tmp", "host-test")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	for name, mode := range map[string]os.FileMode{"test": 0o755, "rooted": 0o755 | os.ModeSetuid} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), self, 0o755))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	require.NoError(t, os.Chmod(dir, 0o777))
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run", "^TestOrdinaryUser$")
	cmd.Dir = dir
	cmd.Env = []string{"TEST_ORDINARY=1", "PATH=" + defaultPath}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, string(out))
	for _, pid := range pids(t, filepath.Join(dir, "pid")) {
		assert.True(t, alive(t, pid), "the survivor")
		assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

func asOrdinaryUser(t *testing.T) {
	t.Helper()
	r := run(t, sandbox.ContainerProfile{}, sh(`id -u; setsid sleep 999 & exit 3`))
	assert.Equal(t, "65534\n", string(r.Stdout))
	assert.Equal(t, 3, r.ExitCode)
	assert.Empty(t, r.Hints)

	dir, err := os.Getwd()
	require.NoError(t, err)
	c := sh(`./rooted ` + becomesRoot + ` & while ! test -s pid; do sleep 0.01; done; echo hi; exit 3`)
	c.Dir, c.Timeout = dir, 30*time.Second
	r, err = open(t, Unsandboxed).Run(context.Background(), sandbox.ContainerProfile{}, c) // Go itself reserves more than RLIMIT_AS allows
	require.NoError(t, err)
	assert.Equal(t, 3, r.ExitCode, string(r.Stderr))
	assert.Equal(t, "hi\n", string(r.Stdout))
	assert.Equal(t, []string{"processes of this call may still run on the host"}, r.Hints)
	assert.Nil(t, r.Usage.CPU(), "what goes on is not measured")
}

// becomesRoot makes this test binary, installed setuid, another user's process for good.
const becomesRoot = "test-becomes-root"

func becomeRoot() {
	err := syscall.Setresuid(0, 0, 0)
	if err == nil {
		err = os.WriteFile("pid.new", []byte(strconv.Itoa(os.Getpid())), 0o644)
	}
	if err == nil {
		err = os.Rename("pid.new", "pid")
	}
	if err != nil {
		panic(err)
	}
	time.Sleep(10 * time.Minute)
}
