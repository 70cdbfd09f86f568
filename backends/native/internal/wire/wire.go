// Package wire is the protocol between a caller and its spawner: one SEQPACKET socket, one fixed-size message each,
// descriptors beside it. Both ends are built from the same source, which [Hello] checks, so a message is its struct.
//
//	caller                               spawner
//	  │ Hello ───────────────────────────▶ │   queued before the spawner starts: it is also the sign
//	  │ ◀─────────────────────────── Reply │   ReplyReady, or ReplyFault with the step that failed
//	  │ Request(RequestRun) + descriptors ▶│
//	  │                                    │   fork, identity maps, release
//	  │ ◀─────────────────────────── Reply │   ReplyExited: the program has ended, others have not
//	  │ Request(RequestKill) ─────────────▶│   enough waited, or canceled
//	  │ ◀─────────────────────────── Reply │   ReplyDone: init is reaped, nothing is left
//
// A call that is armed ahead, without a program and its streams, begins with
//
//	│ Request(RequestRun), FlagArmed ───▶│
//	│ ◀─────────────────────────── Reply │   ReplyArmed: confined, and waiting
//	│ Request(RequestRelease) + them ───▶│   and goes on as above
//
// The package makes no system call and builds on every operating system.
package wire

import (
	"fmt"
	"unsafe"
)

// SocketFD and CallerFD are where the spawner finds its socket and a pidfd of its caller.
const (
	SocketFD = 3
	CallerFD = 4
)

// version changes with every change of the messages or of the plan's encoding.
const version = 6

// magic opens a Hello. A process that finds it waiting on SocketFD is a spawner; nothing else makes it one.
var magic = [16]byte{'t', 'o', 'o', 'l', 'c', 'e', 'l', 'l', ' ', 's', 'p', 'a', 'w', 'n', 'e', 'r'}

// Hello is the first message of the caller.
type Hello struct {
	magic   [16]byte
	version uint32
	_       uint32
	build   [32]byte
}

// NewHello returns the greeting of a program with the given build id.
func NewHello(build [32]byte) Hello { return Hello{magic: magic, version: version, build: build} }

// Is reports whether h is a greeting at all.
func (h *Hello) Is() bool { return h.magic == magic }

// Check returns an error unless both ends were built from the same source.
func (h *Hello) Check(build [32]byte) error {
	if h.version != version || h.build != build {
		return fmt.Errorf("wire: the spawner and its caller are of different builds")
	}
	return nil
}

// The kinds of request.
const (
	// RequestRun starts a call. The descriptors are the plan and the program, then the CPU usage file and the
	// out-of-memory event when their flags are set, then what the plan expects from plan.FirstFD on.
	RequestRun = iota + 1
	// RequestKill kills the call.
	RequestKill
	// RequestUserNS asks for a user namespace with the request's map, for an id-mapped mount.
	RequestUserNS
	// RequestAlive asks for a sign of life, which comes after everything that was told before.
	RequestAlive
	// RequestRelease starts the program of a call that was armed (FlagArmed). The descriptors are init's, in its order.
	RequestRelease
	// RequestSpare asks for namespaces for one later call. It is answered with a ReplySpare, Faulted if there are none.
	RequestSpare
)

// Hostname is the name of every sandbox's machine.
const Hostname = "sandbox"

// The flags of a RequestRun.
const (
	FlagCPUFile  = 1 << iota // the call's CPU usage file follows the program's descriptor
	FlagOOMEvent             // the next descriptor becomes readable when the call runs out of memory
	// FlagDenySetgroups: init's groups are fixed, as they must be when a process without privileges writes its own group as
	// the map (user_namespaces(7)).
	FlagDenySetgroups
	// FlagArmed: the call's time begins with its RequestRelease. Until then it is told with a ReplyArmed that it waits.
	FlagArmed
	FlagHoldMounts // ReplyDone brings the mount namespace, where it can be had, so that its end is not waited for
	// FlagRoot: the next descriptor is the mount namespace that the call's is to be a copy of, made by a FlagPrepare.
	FlagRoot
	// FlagPrepare, with FlagArmed: the request makes no call but a mount namespace, which ReplyArmed brings.
	FlagPrepare
	// FlagSpare: the call is made in the namespaces that a RequestSpare has made, which are not among the request's.
	FlagSpare
	// FlagCgroup: the next descriptor is the directory of a cgroup (v2) that the call's init is to be born in, if it can. The
	// plan's first descriptor is what it writes "0" to otherwise.
	FlagCgroup
)

// Request is a message of the caller.
type Request struct {
	Kind, Flags uint32
	ID          uint64
	// InsideUID and InsideGID are mapped to OutsideUID and OutsideGID, which are ids in the forking process's namespace.
	InsideUID, InsideGID, OutsideUID, OutsideGID uint32
	// Namespaces are the clone flags.
	Namespaces uint64
	// Timeout and CPU bound the call, in nanoseconds. Lifetime is after how many init ends by itself, should nobody be
	// there to kill it; 0 is never.
	Timeout, CPU, Lifetime int64
	// Sent is when the request was sent, in nanoseconds of CLOCK_MONOTONIC, which both ends share.
	Sent int64
}

// The kinds of reply.
const (
	ReplyReady = iota + 1
	ReplyFault
	ReplyExited
	ReplyDone
	ReplyUserNS
	ReplyAlive
	ReplyArmed
	ReplySpare
)

// Cause says who ended a call.
type Cause uint32

// The causes.
const (
	CauseNone Cause = iota
	// CauseTimeout: the spawner, at the deadline.
	CauseTimeout
	// CauseCPU: the spawner, when the CPU time was used up.
	CauseCPU
	// CauseOOM: the spawner, when the memory limit was reached.
	CauseOOM
	// CauseKilled: the caller's RequestKill.
	CauseKilled
)

// Reply is a message of the spawner.
type Reply struct {
	Kind  uint32
	Cause Cause
	ID    uint64
	// Started says that the program was running at some time, Exited that Status is its wait status.
	Started, Exited bool
	// Faulted says that step Step failed with Errno: of the plan, or of the spawner itself when BySpawner is set.
	Faulted, BySpawner bool
	// MemfdNoexec, in a ReplyReady, says that memfds are not executable in the spawner's process namespace.
	MemfdNoexec bool
	// Untaken, in a ReplyDone, says that an armed sandbox ended before it took its program, of which nothing ran.
	Untaken bool
	// Joined says that the call's init could not be born in its cgroup (FlagCgroup), and joined it.
	Joined bool
	_      [1]byte
	Step   uint32
	Errno  uint32
	Status uint32
	// InitStatus is the wait status of the sandbox's init.
	InitStatus uint32
	// Waited is how long the request lay before the spawner took it, in nanoseconds.
	Waited int64
	// User and System are the CPU time of what init reaped, in microseconds; both 0 when unknown.
	User, System uint64
}

// Message is one of the messages.
type Message interface{ Hello | Request | Reply }

// Bytes is m as it travels. It shares m's memory.
func Bytes[M Message](m *M) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m))
}

// Parse fills m from a received message, which must have exactly its size and nothing in a bool but 0 and 1.
func Parse[M Message](m *M, data []byte) error {
	if len(data) != int(unsafe.Sizeof(*m)) {
		return fmt.Errorf("wire: a message of %d bytes, not %d", len(data), unsafe.Sizeof(*m))
	}
	if _, ok := any(m).(*Reply); ok {
		for _, off := range replyBools {
			if data[off] > 1 {
				return fmt.Errorf("wire: %d at offset %d is no bool", data[off], off)
			}
		}
	}
	copy(Bytes(m), data)
	return nil
}

// replyBools are the offsets of a Reply's bools. A spawner has fewer rights than its caller, which must not have to
// trust it even so far.
var replyBools = [...]uintptr{
	unsafe.Offsetof(Reply{}.Started), unsafe.Offsetof(Reply{}.Exited), unsafe.Offsetof(Reply{}.Faulted),
	unsafe.Offsetof(Reply{}.BySpawner), unsafe.Offsetof(Reply{}.MemfdNoexec),
	unsafe.Offsetof(Reply{}.Untaken), unsafe.Offsetof(Reply{}.Joined),
}

// The steps of the spawner's own start, as a ReplyFault numbers them.
const (
	StepHello = iota + 1
	StepSignals
	StepNoNewPrivs
	StepPropagation
	StepProc
	StepIdentity
	StepLoop
	// StepFork: the clone that makes a call's namespaces.
	StepFork
	// StepMaps: writing a call's identity maps.
	StepMaps
	// StepRelease: handing an armed call its program.
	StepRelease
	// StepSpare: making namespaces for a later call.
	StepSpare
)

// StepName names a step of the spawner.
func StepName(step uint32) string {
	switch step {
	case StepHello:
		return "greet the spawner"
	case StepSignals:
		return "reset ignored signals"
	case StepNoNewPrivs:
		return "set no_new_privs"
	case StepPropagation:
		return "stop mount propagation"
	case StepProc:
		return "mount a fresh /proc"
	case StepIdentity:
		return "take the spawner's own ids"
	case StepLoop:
		return "wait for requests"
	case StepFork:
		return "make namespaces"
	case StepMaps:
		return "write identity maps"
	case StepRelease:
		return "hand over the program"
	case StepSpare:
		return "make namespaces ahead"
	default:
		return "unknown step"
	}
}
