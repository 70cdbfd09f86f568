package spawner

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/supervise"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// called remembers that this program called Main, and so may be started again as a spawner.
var called atomic.Bool

// Callable reports whether this program has called [Main].
func Callable() bool { return called.Load() }

// Main turns the process into a spawner when it was started as one, and then never returns. Otherwise it returns at
// once, having done nothing. Only a greeting that already waits on descriptor 3 makes a spawner; neither the environment
// nor the arguments can. It must be called before anything else in main.
func Main() {
	called.Store(true)
	if !greeted() {
		return
	}
	runtime.LockOSThread() // the forks must come from one thread, which then never ends
	os.Exit(run())
}

// greeted reports whether a greeting waits on the socket's descriptor. It takes nothing from it.
func greeted() bool {
	if t, err := unix.GetsockoptInt(wire.SocketFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || t != unix.SOCK_SEQPACKET {
		return false
	}
	if d, err := unix.GetsockoptInt(wire.SocketFD, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || d != unix.AF_UNIX {
		return false
	}
	var h wire.Hello
	n, _, err := unix.Recvfrom(wire.SocketFD, wire.Bytes(&h), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == nil && n == len(wire.Bytes(&h)) && h.Is()
}

// memoryLimit is well above what the runtime itself takes, about 3 MiB.
const memoryLimit = 12 << 20

// Environment is what a spawner is to be started with, the whole of it: what [tune] would set otherwise. It changes
// nothing but how soon the spawner is ready.
func Environment() []string {
	return []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=" + strconv.Itoa(memoryLimit)}
}

// tune keeps the heap small, since every fork copies its page tables: the loop collects garbage when it is idle, and the
// limit sees to it that a spawner without a pause does too. Each call stops the world, so what the environment has set
// already is left alone.
func tune() {
	if runtime.GOMAXPROCS(0) != 1 {
		runtime.GOMAXPROCS(1)
	}
	if os.Getenv("GOGC") != "off" {
		debug.SetGCPercent(-1)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// run is the spawner's life. Its result is the exit status, seen only by a caller that is still there.
func run() int {
	tune()
	if err := prepare(); err != nil {
		return report(err)
	}
	l, err := newLoop()
	if err != nil {
		return report(&stepError{step: wire.StepLoop, err: err})
	}
	_ = l.KeepHeapFromForks() // without it, forks cost more; a spawner's arguments are nobody's secret
	ready := wire.Reply{Kind: wire.ReplyReady, MemfdNoexec: memfdNoexec()}
	if err := l.send(&ready, -1); err != nil {
		return 1
	}
	if err := l.run(); err != nil {
		fmt.Fprintln(os.Stderr, "spawner:", err)
		return 1
	}
	return 0
}

// report tells the caller which step of the start failed, and ends.
func report(err *stepError) int {
	r := wire.Reply{Kind: wire.ReplyFault, Faulted: true, Step: err.step, Errno: uint32(supervise.Errno(err.err))}
	if e := unix.Sendto(wire.SocketFD, wire.Bytes(&r), unix.MSG_NOSIGNAL, nil); e != nil {
		return 2
	}
	return 1
}
