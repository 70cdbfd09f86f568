package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var shell = Program{Paths: []string{"/bin/sh"}, Argv: []string{"sh", "-c", "true"}, Env: []string{"A=1"}}

func TestEveryCallHasAName(t *testing.T) {
	names := map[string]bool{}
	for c := Call(1); c.Valid(); c++ {
		assert.NotEmpty(t, c.String(), "call %d", c)
		assert.NotEqual(t, "?", c.String(), "call %d", c)
		assert.False(t, names[c.String()], "%s is there twice", c)
		names[c.String()] = true
	}
	assert.Len(t, names, NumCalls-1)
	assert.Equal(t, "?", Call(0).String())
	assert.Equal(t, "?", Call(255).String())
	assert.False(t, Call(0).Valid())
}

// Everything that the executor relies on is refused before it is encoded.
func TestBuilderRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		build func(b *Builder)
		want  string
	}{
		"an unknown call":            {func(b *Builder) { b.Do("", Call(200), nil) }, "unknown system call"},
		"no call":                    {func(b *Builder) { b.Do("", 0, nil) }, "unknown system call"},
		"seven arguments":            {func(b *Builder) { b.Do("", Close, make([]Arg, 7)) }, "7 arguments"},
		"an unknown kind of arg":     {func(b *Builder) { b.Do("", Close, []Arg{{Kind: 9}}) }, "unknown kind of argument"},
		"a register of nobody":       {func(b *Builder) { b.Do("", Close, []Arg{Reg(0).Arg()}) }, "register 0 of 0"},
		"a register of a later step": {useBeforeSet, "no earlier step is sure to set register 0"},
		"its own register":           {useOwn, "no earlier step is sure"},
		"a register of a step that may fail": {func(b *Builder) {
			r := b.Call("", Openat, nil, Tolerate(2))
			b.Do("", Close, []Arg{r.Arg()})
		}, "no earlier step is sure"},
		"an address behind the memory": {func(b *Builder) { b.Do("", Write, []Arg{b.Buffer(8, "").At(1 << 40)}) }, "outside the plan's"},
		"an address at the very end":   {func(b *Builder) { b.Do("", Write, []Arg{b.Buffer(8, "").At(^uint64(0))}) }, "outside the plan's"},
		"a put of 3 bytes":             {func(b *Builder) { b.Put("", b.Buffer(8, ""), 0, b.Call("", Setsid, nil), 3) }, "puts 3 bytes"},
		"a put over the end":           {func(b *Builder) { b.Put("", b.Buffer(8, ""), 1<<20, b.Call("", Setsid, nil), 8) }, "outside the plan's"},
		"a put to a number": {func(b *Builder) {
			b.add(Step{Op: OpPut, Args: []Arg{Num(8), Num(1), Num(8)}, Dst: NoRegister}, nil)
		}, "wants an address"},
		"a put with a result": {func(b *Builder) {
			m := b.Buffer(8, "")
			b.add(Step{Op: OpPut, Args: []Arg{m.Ptr(), b.Call("", Setsid, nil).Arg(), Num(8)}, Dst: 0}, nil)
		}, "has no result"},
		"a comparison over the end":     {func(b *Builder) { b.Same("", b.Buffer(8, ""), 1<<20, b.Buffer(8, "")) }, "outside the plan's"},
		"a comparison with a long one":  {func(b *Builder) { m := b.Buffer(8, ""); m.size = 1 << 30; b.Same("", b.Buffer(8, ""), 0, m) }, "outside the plan's"},
		"a wait into nowhere":           {func(b *Builder) { b.Wait("", 3, Mem{off: 1 << 20, size: 8}) }, "outside the plan's"},
		"a wait of a register's length": {waitRegister, "the last a number"},
		"two arguments of a comparison": {func(b *Builder) { b.add(Step{Op: OpSame, Args: []Arg{Num(1), Num(2)}, Dst: NoRegister}, nil) }, "three arguments"},
		"an unknown kind of step":       {func(b *Builder) { b.add(Step{Op: 77, Dst: NoRegister}, nil) }, "unknown kind of step 77"},
		"no kind of step":               {func(b *Builder) { b.add(Step{Dst: NoRegister}, nil) }, "unknown kind of step 0"},
		"a result without a register":   {func(b *Builder) { b.add(Step{Op: OpCall, Call: Setsid, Dst: 5}, nil) }, "register 5 of 0"},
		"a zero byte in a string":       {func(b *Builder) { b.Do("", Chdir, []Arg{b.Str("/tmp\x00/x")}) }, `a zero byte in "/tmp\x00/x"`},
		"a pointer over the end":        {func(b *Builder) { b.Pointer(b.Buffer(8, "m"), 1, b.Buffer(8, "")) }, "no room for an address"},
		"two pointers in one place": {func(b *Builder) {
			m := b.Buffer(8, "")
			b.Pointer(m, 0, m)
			b.Pointer(m, 0, m)
		}, "overlaps"},
	} {
		t.Run(name, func(t *testing.T) {
			var b Builder
			b.Do("something before", Setsid, nil)
			tt.build(&b)
			_, err := b.Plan(shell)
			require.ErrorContains(t, err, tt.want)
			assert.ErrorContains(t, err, "plan: ")
		})
	}
}

func useBeforeSet(b *Builder) {
	b.Do("", Close, []Arg{Reg(0).Arg()})
	b.Call("", Setsid, nil)
}

func useOwn(b *Builder) { b.Call("", Close, []Arg{Reg(0).Arg()}) }

func waitRegister(b *Builder) {
	r := b.Call("", Setsid, nil)
	b.add(Step{Op: OpWait, Args: []Arg{FD(3), b.Buffer(8, "").Ptr(), r.Arg()}, Dst: NoRegister}, nil)
}

func TestProgramIsChecked(t *testing.T) {
	for name, p := range map[string]Program{
		"no path":               {Argv: []string{"true"}},
		"no arguments":          {Paths: []string{"/bin/true"}},
		"zero byte in argument": {Paths: []string{"/bin/true"}, Argv: []string{"true", "a\x00b"}},
		"zero byte in env":      {Paths: []string{"/bin/true"}, Argv: []string{"true"}, Env: []string{"A=\x00"}},
		"zero byte in path":     {Paths: []string{"/bin/true\x00"}, Argv: []string{"true"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b Builder
			_, err := b.Plan(p)
			require.Error(t, err)
		})
	}
}

// A mistake is told once, the first one, and building goes on until Plan.
func TestFirstMistakeIsReported(t *testing.T) {
	var b Builder
	b.Str("one\x00")
	b.Str("two\x00")
	_, err := b.Plan(Program{})
	require.ErrorContains(t, err, "one")
}

func TestEqualStringsShareMemory(t *testing.T) {
	var b Builder
	one, two, other := b.Str("/usr"), b.Str("/usr"), b.Str("/us")
	assert.Equal(t, one.Value, two.Value)
	assert.NotEqual(t, one.Value, other.Value)
	assert.Equal(t, "/usr\x00/us\x00", string(b.plan.memory))
	assert.Equal(t, `"/usr"`, one.String())
}

func TestMemoryIsAligned(t *testing.T) {
	var b Builder
	b.Str("odd")
	m := b.Words("w", 1, 2)
	assert.Zero(t, m.off%8)
	assert.Equal(t, uint64(16), m.size)
	assert.Equal(t, Num(16), m.Len())
	b.Bytes([]byte{1}, "")
	assert.Zero(t, b.Bytes([]byte{2}, "").off%8)
}

func TestOptions(t *testing.T) {
	var b Builder
	b.For("some.guarantee")
	r := b.Call("first", Openat, []Arg{Num(-100)}, Want(7), Blame(ClassRefused, "do this"))
	b.For("")
	b.Do("second", Close, []Arg{r.Arg()}, Tolerate(9))
	p, err := b.Plan(shell)
	require.NoError(t, err)
	s, ok := p.Step(0)
	require.True(t, ok)
	assert.Equal(t, "some.guarantee", s.Guarantee)
	assert.Equal(t, int64(7), s.Want)
	assert.Equal(t, ClassRefused, s.Class)
	assert.Equal(t, "do this", s.Fix)
	assert.Equal(t, uint32(r), s.Dst)
	s, ok = p.Step(1)
	require.True(t, ok)
	assert.Equal(t, Step{Name: "second", Op: OpCall, Call: Close, Args: []Arg{r.Arg()}, Errno: 9, Dst: NoRegister}, s)
	for _, i := range []int{-1, 2, 0xfffffff0} {
		_, ok := p.Step(i)
		assert.False(t, ok, "step %d", i)
	}
	assert.Len(t, p.Steps(), 2)
}

func TestPrinter(t *testing.T) {
	var b Builder
	b.For("fs.readonly-root")
	fd := b.Call("open the root", Openat, []Arg{Flag(-100, "AT_FDCWD"), b.Str("/a \"b\"\n\xff"), Num(0)})
	b.For("")
	m := b.Buffer(16, "buf")
	b.Put("keep it", m, 8, fd, 4)
	b.Same("unchanged", m, 0, b.Words("", 0))
	b.Wait("go", ChannelFD, b.Buffer(1, "byte"))
	b.Call("write", Write, []Arg{fd.Arg(), m.Ptr(), m.Len()}, Want(16), Tolerate(13))
	b.Do("close", Close, []Arg{fd.Arg(), Null(), Num(-1)})
	p, err := b.Plan(Program{Paths: []string{"/bin/sh"}, Argv: []string{"sh"}, Env: []string{"TOKEN=secret"}})
	require.NoError(t, err)
	line := func(n int, guarantee, call, name string) string {
		return fmt.Sprintf("%3d  %-22s %-100s # %s\n", n, guarantee, call, name)
	}
	want := line(0, "fs.readonly-root", `r0 = openat(AT_FDCWD, "/a \"b\"\n\xff", 0)`, "open the root") +
		line(1, "", "put(buf+8, r0, 4)", "keep it") +
		line(2, "", "same(buf+0, &32, 8)", "unchanged") +
		line(3, "", "wait(3, byte, 1)", "go") +
		line(4, "", "r1 = write(r0, buf, 16) = 16 or errno 13", "write") +
		line(5, "", "close(r0, NULL, -1)", "close") +
		line(6, "", `execve(["/bin/sh"], 1 arguments, 1 variables)`, "the program, in a process of its own")
	assert.Equal(t, want, p.String())
	assert.NotContains(t, p.String(), "secret")
	var out strings.Builder
	n, err := p.WriteTo(&out)
	require.NoError(t, err)
	assert.Equal(t, int64(len(want)), n)
	assert.Equal(t, want, out.String())
}
