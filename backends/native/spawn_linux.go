package native

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// startTimeout is how long a spawner may take to be ready. It is milliseconds' work; a machine may be busy.
const startTimeout = 20 * time.Second

// identity says as whom a spawner runs, in ids of the caller's namespace.
type identity struct {
	// base is the first of count host ids that the spawner's namespace maps from 0.
	base, count uint32
	// root says that the caller may map ids that are not its own.
	root bool
	// spare says that the spawner is to make namespaces ahead, for which it needs a right over their network.
	spare bool
}

// startLane starts a spawner and waits until it is ready.
func startLane(ctx context.Context, program *os.File, id identity) (*lane, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, unavailable("make the spawner's socket", err, "")
	}
	theirs := os.NewFile(uintptr(pair[1]), "spawner socket")
	defer theirs.Close()
	conn, err := packetConn(pair[0])
	if err != nil {
		return nil, unavailable("make the spawner's socket", err, "")
	}
	l := &lane{conn: conn, pending: make(map[uint64]chan message), waiting: make(map[uint64]bool)}
	if err := l.spawn(program, theirs, id); err != nil {
		conn.Close()
		return nil, err
	}
	theirs.Close() // or a spawner that ends would not be noticed
	if err := l.awaitReady(ctx); err != nil {
		l.stop()
		return nil, err
	}
	go l.read()
	return l, nil
}

func packetConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "spawner")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

// spawn starts the process. The greeting is sent before, since its presence is what makes the program a spawner.
func (l *lane) spawn(program, socket *os.File, id identity) error {
	hello := wire.NewHello(wire.Build())
	if _, err := l.conn.Write(wire.Bytes(&hello)); err != nil {
		return unavailable("greet the spawner", err, "")
	}
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return unavailable("open a pidfd of this process", err, "the native backend needs Linux 5.13 or newer")
	}
	defer unix.Close(self)
	l.process, err = startProcess(program, id.attributes(), []uintptr{socket.Fd(), uintptr(self)})
	return err
}

// attributes are the spawner's own namespaces and identity. A session of its own keeps the terminal's signals away.
//
// The spawner of a root caller starts with host id 0, which its namespace does not map, and so keeps only the ambient
// capabilities; it writes one sysctl that the kernel gives to that id alone, and changes to its own id.
func (id identity) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: int(id.base), Size: int(id.count)}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: id.gid(), Size: int(id.count)}},
		Setsid:      true,
	}
	if id.root {
		a.GidMappingsEnableSetgroups = true
		a.AmbientCaps = []uintptr{unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT}
		if id.spare {
			a.AmbientCaps = append(a.AmbientCaps, unix.CAP_NET_ADMIN)
		}
	}
	return a
}

func (id identity) gid() int {
	if id.root {
		return int(id.base)
	}
	return os.Getegid()
}

// startError explains why a process in new namespaces could not be started. The errno is the kernel's; what may be
// behind it is for the operator to read, nothing is decided by it.
func startError(err error) error {
	fix := "see `toolcell doctor`"
	switch {
	case errors.Is(err, unix.ENOSPC):
		fix = "user namespaces are used up or switched off: raise the sysctl user.max_user_namespaces"
	case errors.Is(err, unix.EPERM):
		fix = "user namespaces are forbidden here: in a container run it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined; on a host allow them (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0); or use a container engine's backend; a process in a chroot has none (user_namespaces(7))"
	case errors.Is(err, unix.EACCES):
		fix = "the spawner's program must be executable by all users and not on a noexec file system"
	case errors.Is(err, unix.ENOEXEC):
		fix = "the spawner must be a program for this machine: the " + spawnerName + " of this module, or one that calls spawner.Main"
	case errors.Is(err, unix.EINVAL):
		fix = "the kernel was built without user, mount or process namespaces"
	case errors.Is(err, unix.ENOSYS):
		fix = "the kernel was built without namespaces, or clone3 is filtered away: in a container run it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or use a container engine's backend"
	}
	return unavailable("make new namespaces", err, fix)
}

func unavailable(op string, err error, fix string) error {
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: op, Cause: err, Fix: fix}
}

// awaitReady takes the spawner's first reply.
func (l *lane) awaitReady(ctx context.Context) error {
	deadline := time.Now().Add(startTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := l.conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Now()) })
	var r wire.Reply
	n, err := l.conn.Read(wire.Bytes(&r))
	if !stop() {
		return unavailable("start the spawner", fmt.Errorf("it is not ready: %w", context.Cause(ctx)), notSpawner)
	}
	if err != nil || n == 0 {
		return l.diedAtStart(err)
	}
	if err := wire.Parse(&r, wire.Bytes(&r)[:n]); err != nil {
		return unavailable("start the spawner", err, notSpawner)
	}
	if r.Kind == wire.ReplyFault {
		return spawnerFault(r)
	}
	l.memfdNoexec = r.MemfdNoexec
	return l.conn.SetReadDeadline(time.Time{})
}

// notSpawner is what helps when a program does not answer as one.
const notSpawner = "the program must call spawner.Main first thing in its main function"

func (l *lane) diedAtStart(err error) error {
	if err == nil {
		err = errors.New("it ended at once")
	}
	select {
	case <-l.process.done:
		err = fmt.Errorf("it ended at once (%s)%s", l.process.status(), l.epitaph())
	case <-time.After(time.Second):
	}
	return unavailable("start the spawner", err, notSpawner)
}

// spawnerFault explains a step of the spawner's start that failed.
func spawnerFault(r wire.Reply) error {
	err := &sandbox.SetupError{Step: wire.StepName(r.Step), Errno: syscall.Errno(r.Errno)}
	var fix string
	switch r.Step {
	case wire.StepHello:
		fix = "the spawner and this program come from different builds: build both again"
	case wire.StepProc:
		fix = "a masked /proc forbids a new one: in a container run it with --security-opt systempaths=unconfined"
	case wire.StepFork, wire.StepMaps:
		fix = "namespaces or clone3(2) are used up or forbidden: raise the sysctls user.max_*_namespaces, or allow clone3 in the filter of the container this runs in"
	case wire.StepPropagation, wire.StepNoNewPrivs:
		fix = "the new user namespace has no rights: an AppArmor or SELinux policy restricts it (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for this program)"
	}
	return unavailable("start the spawner", err, fix)
}
