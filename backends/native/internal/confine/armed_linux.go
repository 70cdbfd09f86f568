package confine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// Order is the order in which an armed sandbox takes its descriptors: with nothing else open from the first place on,
// the kernel puts each where the plan expects it.
type Order struct{ Stdout, Program, Stderr, Stdin int }

// Received are the places of what comes with the program.
func Received() Order {
	return Order{Stdout: plan.AttentionFD + 1, Program: plan.ProgramFD, Stderr: plan.ProgramFD + 1, Stdin: plan.ProgramFD + 2}
}

// await says that the sandbox is armed and waits for its call: a message of one byte on the channel, with the streams
// and the program. Everything that confines is done by then, so these steps are made under the filter, and whatever
// goes wrong with them ends the process before the program's first instruction.
func (c *compiler) await() {
	if !c.spec.Armed {
		return
	}
	c.For("")
	c.announce()
	c.receive()
	at := Received()
	c.dup("standard output", plan.FD(at.Stdout), 1)
	c.dup("standard error", plan.FD(at.Stderr), 2)
	if c.spec.FDs.Stdin != 0 {
		c.dup("standard input", plan.FD(at.Stdin), 0)
	}
	c.Do("close what came", plan.Close, args(plan.FD(at.Stdout)))
	c.Do("close what came", plan.CloseRange, args(plan.FD(at.Stderr), plan.FD(at.Stdin), plan.Num(0)))
}

// announce tells the supervisor that everything before is done.
func (c *compiler) announce() {
	armed := c.Words("armed", forked.RecordArmed, 0, 0, 0, 0)
	c.Call("it is armed", plan.Write, args(plan.FD(plan.ChannelFD), armed.Ptr(), armed.Len()), plan.Want(int64(forked.RecordSize)))
	one := c.Words("1", 1)
	c.Call("have that read", plan.Write, args(plan.FD(plan.AttentionFD), one.Ptr(), one.Len()), plan.Want(8))
}

// receive takes the one message there is, and checks that it brought exactly the descriptors that are expected, at their
// places: recvmsg(2), cmsg(3), unix(7).
func (c *compiler) receive() {
	at := Received()
	fds := []int{at.Stdout, at.Program, at.Stderr}
	if c.spec.FDs.Stdin != 0 {
		fds = append(fds, at.Stdin)
	}
	want := binary.NativeEndian.AppendUint64(nil, uint64(unix.CmsgLen(4*len(fds))))
	want = binary.NativeEndian.AppendUint32(want, unix.SOL_SOCKET)
	want = binary.NativeEndian.AppendUint32(want, unix.SCM_RIGHTS)
	for _, fd := range fds {
		want = binary.NativeEndian.AppendUint32(want, uint32(fd))
	}
	control := c.Buffer(unix.CmsgSpace(4*len(fds)), "descriptors")
	data := c.Buffer(8, "go")
	vector := c.Words("{go}", 0, 1) // struct iovec
	c.Pointer(vector, 0, data)
	// struct msghdr: name, its length, vector, its length, control, its length, flags.
	message := c.Words("{go, descriptors}", 0, 0, 0, 1, 0, uint64(unix.CmsgSpace(4*len(fds))), 0)
	c.Pointer(message, 16, vector)
	c.Pointer(message, 32, control)
	c.Call("wait for the call", plan.Recvmsg, args(plan.FD(plan.ChannelFD), message.Ptr(), plan.Flag(unix.MSG_CMSG_CLOEXEC, "MSG_CMSG_CLOEXEC")), plan.Want(1))
	c.Same("what came with it", control, 0, c.Bytes(want, "at their places"))
}
