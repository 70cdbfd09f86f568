package spawner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// helperVariable makes this test program a helper, whose name is the value.
const helperVariable = "TOOLCELL_TEST_SPAWNER_HELPER"

// patience bounds every wait for what must happen. It is no measure of anything.
const patience = 20 * time.Second

// otherThread is the name of a spawner that does not run on its process's first thread.
const otherThread = "spawner-on-another-thread"

// TestMain lets the test program be its own spawner, and its own helpers.
func TestMain(m *testing.M) {
	if os.Args[0] == otherThread {
		runtime.LockOSThread() // so that Main's thread is another one, made by the Go runtime
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Main()
		}()
		<-ended
	}
	Main()
	if name := os.Getenv(helperVariable); name != "" {
		if err := helpers()[name](); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// peer is the caller's end of a spawner under test.
type peer struct {
	fd  int
	cmd *exec.Cmd
}

// socketpair returns both ends of a spawner's socket.
func socketpair() (ours int, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	return pair[0], os.NewFile(uintptr(pair[1]), "spawner"), nil
}

// startPeer starts a spawner of that name whose first message is hello.
func startPeer(name string, hello []byte, prepare func(theirs *os.File) error) (*peer, error) {
	ours, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if prepare != nil {
		if err := prepare(theirs); err != nil {
			return nil, err
		}
	}
	if err := unix.Sendto(ours, hello, 0, nil); err != nil {
		return nil, err
	}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, err
	}
	caller := os.NewFile(uintptr(self), "caller")
	defer caller.Close()
	p := &peer{fd: ours}
	p.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{name}, Env: []string{}, Dir: "/", Stderr: os.Stderr,
		ExtraFiles: []*os.File{theirs, caller}, SysProcAttr: attributes(),
	}
	return p, p.cmd.Start()
}

// attributes are those with which the native backend starts a spawner. The ids are far from the backend's own range.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Setsid: true}
	base, count := os.Getuid(), 1
	if os.Geteuid() == 0 {
		base, count = 2100000000, 16
		a.GidMappingsEnableSetgroups = true
		a.AmbientCaps = []uintptr{unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN}
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: count}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: count}}
	if os.Geteuid() != 0 {
		a.GidMappings[0].HostID = os.Getgid()
	}
	return a
}

// ready starts a spawner and takes its ReplyReady.
func ready(prepare func(*os.File) error) (*peer, error) { return readyAs("spawner", prepare) }

func readyAs(name string, prepare func(*os.File) error) (*peer, error) {
	hello := wire.NewHello(wire.Build())
	p, err := startPeer(name, wire.Bytes(&hello), prepare)
	if err != nil {
		return nil, err
	}
	r, err := p.receive()
	if err != nil {
		return nil, err
	}
	if r.Kind != wire.ReplyReady {
		return nil, fmt.Errorf("first reply %+v", r)
	}
	return p, nil
}

// newPeer is a spawner that ends with the test.
func newPeer(t *testing.T) *peer {
	t.Helper()
	p, err := ready(nil)
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

func (p *peer) close() {
	_ = unix.Close(p.fd)
	_ = p.cmd.Wait()
}

// receive waits for a reply. Its error matches os.ErrDeadlineExceeded when there is none.
func (p *peer) receive() (wire.Reply, error) {
	var r wire.Reply
	if err := waitReadable(p.fd); err != nil {
		return r, err
	}
	n, _, err := unix.Recvfrom(p.fd, wire.Bytes(&r), 0)
	if err == nil && n != len(wire.Bytes(&r)) {
		err = fmt.Errorf("a reply of %d bytes", n)
	}
	return r, err
}

func waitReadable(fd int) error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience/time.Millisecond))
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return os.ErrDeadlineExceeded
}

func (p *peer) reply(t *testing.T) wire.Reply {
	t.Helper()
	r, err := p.receive()
	require.NoError(t, err)
	return r
}

func (p *peer) send(r *wire.Request, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(p.fd, wire.Bytes(r), oob, nil, unix.MSG_NOSIGNAL)
}

// sandboxOf returns the descriptors of a plan that does nothing but wait for its identity, and of the program that it
// starts. With stdout, the program's output goes to the first descriptor after them.
func sandboxOf(stdout bool, argv ...string) ([]int, error) {
	b := identified()
	if stdout {
		b.Call("stdout", plan.Dup3, []plan.Arg{plan.FD(plan.FirstFD), plan.FD(1), plan.Num(0)}, plan.Want(1))
	}
	return sandboxWith(b, argv...)
}

// identified is the beginning of a plan: the identity maps are written.
func identified() *plan.Builder {
	var b plan.Builder
	b.Wait("the identity", plan.ChannelFD, b.Buffer(1, ""))
	return &b
}

// sandboxWith is the same with the steps of b.
func sandboxWith(b *plan.Builder, argv ...string) ([]int, error) {
	shape, err := b.Shape()
	if err != nil {
		return nil, err
	}
	data, err := shape.Encode()
	if err != nil {
		return nil, err
	}
	program, err := plan.Encode(plan.Program{Paths: argv[:1], Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, d := range [][]byte{data, program} {
		fd, err := inMemory(d)
		if err != nil {
			return nil, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// inMemory is a memfd with data in it, as a request carries its plan.
func inMemory(data []byte) (int, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	_, err = unix.Write(fd, data)
	return fd, err
}

// sandbox is sandboxOf with descriptors that are closed with the test.
func sandbox(t *testing.T, argv ...string) []int {
	t.Helper()
	fds, err := sandboxOf(false, argv...)
	require.NoError(t, err)
	t.Cleanup(func() { closeAll(fds) })
	return fds
}

// runRequest is a request with a deadline and a CPU budget that no test reaches unless it means to.
func runRequest(id uint64) *wire.Request {
	r := &wire.Request{
		Kind: wire.RequestRun, ID: id, Namespaces: unix.CLONE_NEWUSER | unix.CLONE_NEWPID,
		Timeout: int64(time.Hour), CPU: int64(time.Hour),
	}
	r.OutsideUID, r.OutsideGID = outside(), outside()
	return r
}

// outside is the id that a sandbox has in the spawner's namespace. Mapping the spawner's own needs CAP_SETFCAP, which the
// spawner of a root caller does not have (user_namespaces(7)).
func outside() uint32 {
	if os.Geteuid() == 0 {
		return 1
	}
	return 0
}

// run sends a request for a program.
func (p *peer) run(req *wire.Request, argv ...string) error {
	fds, err := sandboxOf(false, argv...)
	if err != nil {
		return err
	}
	defer closeAll(fds)
	return p.send(req, fds...)
}

// alive lists the processes whose command line has the mark in it, seen from here.
func alive(mark string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var out []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(data), mark) {
			out = append(out, strings.Split(f, "/")[2])
		}
	}
	return out
}

// eventually waits for what must become true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		require.False(t, time.Now().After(end), "%s: not after %s", what, patience)
	}
}

// mark is an argument of sleep(1) that no other process has: many hours, with a fraction of its own.
func mark(t *testing.T) string {
	return fmt.Sprintf("98765.%d%d", os.Getpid(), time.Now().UnixNano())
}
