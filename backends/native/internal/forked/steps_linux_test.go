package forked

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// fault1 demands that a child reports exactly one fault and ends.
func fault1(t *testing.T, c *child, step uint32, errno unix.Errno) {
	t.Helper()
	recs, status := c.end(t)
	assert.Equal(t, []Record{{Kind: RecordFault, Step: step, Errno: uint32(errno)}}, recs)
	assert.Equal(t, int(failedExit), status)
}

func TestSteps(t *testing.T) {
	cwd := plan.Num(unix.AT_FDCWD)
	for name, tt := range map[string]struct {
		build func(b *plan.Builder)
		// fault is the step that fails, or -1; errno is with which.
		fault int
		errno unix.Errno
	}{
		"nothing to do":     {func(*plan.Builder) {}, -1, 0},
		"a call":            {func(b *plan.Builder) { b.Do("", plan.Chdir, []plan.Arg{b.Str("/")}) }, -1, 0},
		"an errno":          {func(b *plan.Builder) { b.Do("", plan.Chdir, []plan.Arg{b.Str("/none")}) }, 0, unix.ENOENT},
		"a tolerated errno": {func(b *plan.Builder) { b.Do("", plan.Chdir, []plan.Arg{b.Str("/none")}, plan.Tolerate(2)) }, -1, 0},
		"another errno than the tolerated": {func(b *plan.Builder) {
			b.Do("", plan.Chdir, []plan.Arg{b.Str("/none")}, plan.Tolerate(13))
		}, 0, unix.ENOENT},
		"the wanted result": {func(b *plan.Builder) {
			b.Do("", plan.Umask, []plan.Arg{plan.Num(0o27)}, plan.Want(plan.AnyResult))
			b.Do("", plan.Umask, []plan.Arg{plan.Num(0)}, plan.Want(0o27))
		}, -1, 0},
		"another result": {func(b *plan.Builder) {
			b.Do("", plan.Umask, []plan.Arg{plan.Num(0o27)}, plan.Want(plan.AnyResult))
			b.Do("", plan.Umask, []plan.Arg{plan.Num(0)}, plan.Want(0o26))
		}, 1, 0},
		"a result that is not 0": {func(b *plan.Builder) {
			b.Do("", plan.Umask, []plan.Arg{plan.Num(1)}, plan.Want(plan.AnyResult))
			b.Do("", plan.Umask, []plan.Arg{plan.Num(1)})
		}, 1, 0},
		"a register": {func(b *plan.Builder) {
			fd := b.Call("", plan.Openat, []plan.Arg{cwd, b.Str("/dev/null"), plan.Num(unix.O_RDWR), plan.Num(0)})
			b.Do("", plan.Write, []plan.Arg{fd.Arg(), b.Str("abc"), plan.Num(3)}, plan.Want(3))
			b.Do("", plan.Close, []plan.Arg{fd.Arg()})
			b.Do("", plan.Close, []plan.Arg{fd.Arg()})
		}, 3, unix.EBADF},
		"six arguments": {func(b *plan.Builder) {
			// prctl(2) refuses any but 0 in its last three.
			b.Do("", plan.Prctl, []plan.Arg{plan.Num(unix.PR_SET_NO_NEW_PRIVS), plan.Num(1), plan.Num(0), plan.Num(0), plan.Num(0), plan.Num(7)})
			b.Do("", plan.Prctl, []plan.Arg{plan.Num(unix.PR_SET_NO_NEW_PRIVS), plan.Num(1), plan.Num(0), plan.Num(0), plan.Num(1)})
		}, 1, unix.EINVAL},
		"put 4 and same": {func(b *plan.Builder) {
			b.Call("", plan.Umask, []plan.Arg{plan.Num(0)})
			u := b.Call("", plan.Umask, []plan.Arg{plan.Num(0)})
			m := b.Bytes([]byte{9, 9, 9, 9, 9, 9, 9, 9}, "")
			b.Put("", m, 4, u, 4)
			b.Same("", m, 0, b.Bytes([]byte{9, 9, 9, 9, 0, 0, 0, 0}, ""))
		}, -1, 0},
		"put 8 and same": {func(b *plan.Builder) {
			b.Call("", plan.Umask, []plan.Arg{plan.Num(0o123)})
			u := b.Call("", plan.Umask, []plan.Arg{plan.Num(0)})
			m := b.Buffer(24, "")
			b.Put("", m, 8, u, 8)
			b.Same("", m, 0, b.Words("", 0, 0o123, 0))
		}, -1, 0},
		"not the same": {func(b *plan.Builder) { b.Same("", b.Words("", 1, 2), 8, b.Words("", 3)) }, 0, 0},
		"the last byte differs": {func(b *plan.Builder) {
			b.Same("", b.Bytes([]byte("abcd"), ""), 0, b.Bytes([]byte("abce"), ""))
		}, 0, 0},
		"a pointer is relocated": {func(b *plan.Builder) {
			m := b.Buffer(16, "")
			b.Pointer(m, 8, b.Bytes([]byte("x"), ""))
			b.Same("", m, 8, b.Words("", 0))
		}, 0, 0},
		// The place of the plan is free by now, that of the program is not.
		"a wait at the end of a file": {func(b *plan.Builder) {
			b.Do("", plan.Openat, []plan.Arg{cwd, b.Str("/dev/null"), plan.Num(0), plan.Num(0)}, plan.Want(0))
			b.Do("", plan.Dup3, []plan.Arg{plan.Num(0), plan.Num(plan.PlanFD), plan.Num(0)}, plan.Want(plan.PlanFD))
			b.Wait("", plan.PlanFD, b.Buffer(1, ""))
		}, 2, 0},
		"a wait on nothing": {func(b *plan.Builder) { b.Wait("", 999, b.Buffer(1, "")) }, 0, unix.EBADF},
		"a full wait": {func(b *plan.Builder) {
			fd := b.Call("", plan.Openat, []plan.Arg{cwd, b.Str("/dev/zero"), plan.Num(0), plan.Num(0)})
			b.Do("", plan.Dup3, []plan.Arg{fd.Arg(), plan.Num(plan.PlanFD), plan.Num(0)}, plan.Want(plan.PlanFD))
			m := b.Bytes([]byte("not zero"), "")
			b.Wait("", plan.PlanFD, m)
			b.Same("", m, 0, b.Words("", 0))
		}, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var b plan.Builder
			tt.build(&b)
			c := forkPlan(t, &b, shell("exit 0"))
			if tt.fault >= 0 {
				fault1(t, c, uint32(tt.fault), tt.errno)
				return
			}
			recs, status := c.end(t)
			require.Len(t, recs, 2, "%+v", recs)
			assert.Equal(t, uint32(RecordStarted), recs[0].Kind)
			assert.Equal(t, uint32(RecordExited), recs[1].Kind)
			assert.Zero(t, recs[1].Status)
			assert.Zero(t, status)
		})
	}
}

// The channel is the other source of a wait: one message, of exactly the wanted size.
func TestWaitOnTheChannel(t *testing.T) {
	for name, tt := range map[string]struct {
		message []byte
		ok      bool
	}{"the message": {[]byte{1, 2}, true}, "a short one": {[]byte{1}, false}, "the end": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			var b plan.Builder
			m := b.Buffer(2, "")
			b.Wait("", plan.ChannelFD, m)
			b.Same("", m, 0, b.Bytes([]byte{1, 2}, ""))
			c := forkPlan(t, &b, shell("exit 0"))
			if tt.message == nil {
				require.NoError(t, unix.Shutdown(c.channel, unix.SHUT_WR))
			} else {
				require.NoError(t, unix.Sendto(c.channel, tt.message, 0, nil))
			}
			if !tt.ok {
				fault1(t, c, 0, 0)
				return
			}
			recs, _ := c.end(t)
			assert.Len(t, recs, 2)
		})
	}
}

// What no plan of package plan has in it ends the child all the same.
func TestMalformedPlans(t *testing.T) {
	var b plan.Builder
	b.Do("", plan.Chdir, []plan.Arg{b.Str("/")})
	good := encoded(t, &b, shell("exit 0"))
	with := func(which, off int, v byte) [][]byte {
		out := [][]byte{append([]byte(nil), good[0]...), append([]byte(nil), good[1]...)}
		out[which][off] = v
		return out
	}
	for name, tt := range map[string]struct {
		plans [][]byte
		step  uint32
		errno unix.Errno
	}{
		"an unknown step":     {with(0, plan.HeaderSize+plan.StepOp, 99), 0, unix.ENOSYS},
		"an unknown call":     {with(0, plan.HeaderSize+plan.StepCall, 250), 0, unix.ENOSYS},
		"no call":             {with(0, plan.HeaderSize+plan.StepCall, 0), 0, unix.ENOSYS},
		"another format":      {with(0, 0, 'x'), StepMap, unix.EBADMSG},
		"a program of none":   {with(1, 0, 'x'), StepMap, unix.EBADMSG},
		"another size":        {with(0, plan.OffSize, 1), StepMap, unix.EBADMSG},
		"less than a header":  {[][]byte{binary.NativeEndian.AppendUint64(nil, plan.Magic), good[1]}, StepMap, unix.EBADMSG},
		"an empty plan":       {[][]byte{nil, good[1]}, StepMap, unix.EINVAL},
		"a shape for program": {[][]byte{good[0], good[0]}, StepStart, unix.ENOENT},
	} {
		t.Run(name, func(t *testing.T) {
			fault1(t, forkFDs(t, memfd(t, tt.plans[0]), memfd(t, tt.plans[1])), tt.step, tt.errno)
		})
	}
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC))
	defer unix.Close(p[1])
	defer unix.Close(p[0])
	fault1(t, forkFDs(t, p[0], memfd(t, good[1])), StepMap, unix.ESPIPE)
	fault1(t, forkFDs(t, memfd(t, good[0])), StepDescriptors, unix.EINVAL)
	fault1(t, forkFDs(t, memfd(t, good[0]), memfd(t, good[1]), 1<<20), StepDescriptors, unix.EBADF)
}
