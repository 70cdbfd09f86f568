package plan

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Builder puts a plan together. The zero value is ready to use. Its methods never fail; what is malformed is
// reported by [Builder.Plan].
type Builder struct {
	plan      Plan
	strings   map[string]uint64
	guarantee string
	// err is the first thing that could not be built.
	err error
}

// Grow makes room for steps and bytes of memory that are going to be added, so that they are not moved while they are.
func (b *Builder) Grow(steps, bytes int) {
	b.plan.steps = slices.Grow(b.plan.steps, steps)
	b.plan.memory = slices.Grow(b.plan.memory, bytes)
}

// Num is a plain number.
func Num[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64](v T) Arg {
	return Arg{Value: uint64(v), text: strconv.FormatInt(int64(v), 10)}
}

// Flag is a number that the printer shows by its name.
func Flag[T ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64](v T, name string) Arg {
	return Arg{Value: uint64(v), text: name}
}

// FD is a descriptor that the executor finds open.
func FD(n int) Arg { return Arg{Value: uint64(n), text: strconv.Itoa(n)} }

// Null is an empty pointer.
func Null() Arg { return Arg{text: "NULL"} }

// Reg is the result of an earlier step.
type Reg uint32

// Arg returns the register as an argument.
func (r Reg) Arg() Arg {
	return Arg{Kind: KindRegister, Value: uint64(r), text: "r" + strconv.Itoa(int(r))}
}

// Mem is a range of the plan's memory.
type Mem struct {
	off, size uint64
	text      string
}

// Ptr returns the range's address as an argument.
func (m Mem) Ptr() Arg { return Arg{Kind: KindAddress, Value: m.off, text: m.text} }

// At returns the address of the byte at offset i in the range.
func (m Mem) At(i uint64) Arg {
	return Arg{Kind: KindAddress, Value: m.off + i, text: m.text + "+" + strconv.FormatUint(i, 10)}
}

// Len returns the range's size as an argument.
func (m Mem) Len() Arg { return Num(m.size) }

// Bytes adds data to the plan's memory, aligned to 8. The printer shows it as text.
func (b *Builder) Bytes(data []byte, text string) Mem {
	p := &b.plan
	for len(p.memory)%8 != 0 {
		p.memory = append(p.memory, 0)
	}
	m := Mem{off: uint64(len(p.memory)), size: uint64(len(data)), text: text}
	p.memory = append(p.memory, data...)
	return m
}

// Buffer adds n zero bytes to the plan's memory.
func (b *Builder) Buffer(n int, text string) Mem { return b.Bytes(make([]byte, n), text) }

// Words adds 64-bit numbers to the plan's memory.
func (b *Builder) Words(text string, words ...uint64) Mem {
	data := make([]byte, 0, 8*len(words))
	for _, w := range words {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	return b.Bytes(data, text)
}

// Str is the address of a zero-terminated string, which has no zero of its own. Equal strings share their memory.
func (b *Builder) Str(s string) Arg {
	return Arg{Kind: KindAddress, Value: b.str(s), text: strconv.Quote(s)}
}

// str is the offset of a string.
func (b *Builder) str(s string) uint64 {
	if off, ok := b.strings[s]; ok {
		return off
	}
	if strings.IndexByte(s, 0) >= 0 {
		b.fail("a zero byte in %q", s)
	}
	off := uint64(len(b.plan.memory))
	b.plan.memory = append(append(b.plan.memory, s...), 0)
	if b.strings == nil {
		b.strings = make(map[string]uint64)
	}
	b.strings[s] = off
	return off
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("plan: "+format, args...)
	}
}

// Pointer writes the address of target at offset i of m, when the plan is mapped.
func (b *Builder) Pointer(m Mem, i uint64, target Mem) {
	if i > m.size || m.size-i < 8 {
		b.fail("no room for an address at %d of %d bytes (%s)", i, m.size, m.text)
		return
	}
	binary.NativeEndian.PutUint64(b.plan.memory[m.off+i:], target.off)
	b.plan.relocs = append(b.plan.relocs, uint32(m.off+i))
}

// For names the guarantee that the following steps serve; "" is plumbing.
func (b *Builder) For(guarantee string) { b.guarantee = guarantee }

// Option changes the step that it is given to.
type Option func(*Step)

// Tolerate accepts one errno as if the call had succeeded. There may then be no result, so no later step may use the
// step's register.
func Tolerate(errno uint32) Option { return func(s *Step) { s.Errno = errno } }

// Want accepts one result only.
func Want(result int64) Option { return func(s *Step) { s.Want = result } }

// Blame says what a failure of the step means and what to do about it.
func Blame(c Class, fix string) Option { return func(s *Step) { s.Class, s.Fix = c, fix } }

// Call adds a system call and returns the register of its result.
func (b *Builder) Call(name string, call Call, args []Arg, opts ...Option) Reg {
	r := b.plan.regs
	b.plan.regs++
	b.add(Step{Name: name, Op: OpCall, Call: call, Args: args, Want: AnyResult, Dst: r}, opts)
	return Reg(r)
}

// Do adds a system call that must return 0, as most do.
func (b *Builder) Do(name string, call Call, args []Arg, opts ...Option) {
	b.add(Step{Name: name, Op: OpCall, Call: call, Args: args, Dst: NoRegister}, opts)
}

// Put stores a register's low size bytes at offset i of m.
func (b *Builder) Put(name string, m Mem, i uint64, r Reg, size int) {
	b.add(Step{Name: name, Op: OpPut, Args: []Arg{m.At(i), r.Arg(), Num(size)}, Dst: NoRegister}, nil)
}

// Same demands that n bytes at offset i of a equal those at the start of c.
func (b *Builder) Same(name string, a Mem, i uint64, c Mem, opts ...Option) {
	b.add(Step{Name: name, Op: OpSame, Args: []Arg{a.At(i), c.Ptr(), c.Len()}, Dst: NoRegister}, opts)
}

// Wait reads m's size in bytes from descriptor fd into m.
func (b *Builder) Wait(name string, fd int, m Mem) {
	b.add(Step{Name: name, Op: OpWait, Args: []Arg{FD(fd), m.Ptr(), m.Len()}, Dst: NoRegister}, nil)
}

func (b *Builder) add(s Step, opts []Option) {
	s.Guarantee = b.guarantee
	for _, o := range opts {
		o(&s)
	}
	b.plan.steps = append(b.plan.steps, s)
}

// Program is what is started after the last step.
type Program struct {
	// Paths are tried in order, as execvp(3) does.
	Paths []string
	// Argv and Env are the program's own.
	Argv, Env []string
}

// Shape ends the building of a plan that names no program, and returns the checked plan. One shape serves many calls:
// the program comes beside it, as a plan of its own without steps (see [Encode]).
func (b *Builder) Shape() (*Plan, error) { return b.finish(Program{}) }

// Plan ends the building: it adds the program and returns the checked plan.
func (b *Builder) Plan(prog Program) (*Plan, error) {
	b.plan.start = fmt.Sprintf("execve(%q, %d arguments, %d variables)", prog.Paths, len(prog.Argv), len(prog.Env))
	return b.finishStart(prog)
}

// Encode returns the encoded plan without steps that holds a program.
func Encode(prog Program) ([]byte, error) {
	var b Builder
	b.Grow(0, encodedSize)
	p, err := b.finishStart(prog)
	if err != nil {
		return nil, err
	}
	return p.Encode()
}

// encodedSize is the memory that the arguments and the environment of most programs fit in.
const encodedSize = 2 << 10

func (b *Builder) finishStart(prog Program) (*Plan, error) {
	if len(prog.Paths) == 0 || len(prog.Argv) == 0 {
		b.fail("no program")
	}
	return b.finish(prog)
}

func (b *Builder) finish(prog Program) (*Plan, error) {
	b.plan.paths = b.vector(prog.Paths)
	b.plan.argv = b.vector(prog.Argv)
	b.plan.env = b.vector(prog.Env)
	if b.err != nil {
		return nil, b.err
	}
	slices.Sort(b.plan.relocs)
	if err := b.plan.check(); err != nil {
		return nil, err
	}
	return &b.plan, nil
}

// vector adds a zero-terminated array of addresses of strings, as execve(2) takes it, and returns its offset.
func (b *Builder) vector(list []string) uint32 {
	addrs := make([]uint64, len(list)+1)
	for i, s := range list {
		addrs[i] = b.str(s)
	}
	m := b.Words("", addrs...)
	for i := range list {
		b.plan.relocs = append(b.plan.relocs, uint32(m.off)+uint32(8*i))
	}
	return uint32(m.off)
}
