package plan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rich is a plan with every kind of step, argument and reference in it.
func rich(t testing.TB) *Plan {
	t.Helper()
	var b Builder
	later := b.Buffer(24, "filled in later")
	fd := b.Call("open", Openat, []Arg{Num(-100), b.Str("/dev/null"), Num(0), Num(0)}, Tolerate(0), Want(AnyResult))
	m := b.Words("m", 1, 2, 3)
	b.Put("put", m, 16, fd, 8)
	b.Put("put half", m, 12, fd, 4)
	b.Same("same", m, 0, b.Words("", 1))
	b.Wait("wait", ChannelFD, b.Buffer(1, ""))
	b.Pointer(m, 8, b.Bytes([]byte("target"), ""))
	b.Pointer(later, 0, m)
	b.Call("six", Prctl, []Arg{fd.Arg(), m.Ptr(), m.At(24), Num(1), Null(), later.Ptr()}, Want(-5), Tolerate(22))
	b.Do("none", Setsid, nil)
	p, err := b.Plan(Program{Paths: []string{"/bin/sh", "/usr/bin/sh"}, Argv: []string{"sh", "", "/bin/sh"}, Env: []string{"A=1", "B="}})
	require.NoError(t, err)
	return p
}

func encode(t testing.TB, p *Plan) []byte {
	t.Helper()
	data, err := p.Encode()
	require.NoError(t, err)
	return data
}

// bare is a plan's encoded part of a step.
func bare(s Step) Step {
	s.Name, s.Guarantee, s.Class, s.Fix = "", "", 0, ""
	args := make([]Arg, maxArgs)
	if s.Op != OpCall {
		args = args[:3]
	}
	for i, a := range s.Args {
		args[i] = Arg{Kind: a.Kind, Value: a.Value}
	}
	s.Args = args
	return s
}

func TestRoundTrip(t *testing.T) {
	p := rich(t)
	data := encode(t, p)
	assert.Equal(t, data, encode(t, p), "encoding changes nothing")
	got, err := Decode(data)
	require.NoError(t, err)
	require.Len(t, got.steps, len(p.steps))
	for i := range p.steps {
		assert.Equal(t, bare(p.steps[i]), got.steps[i], "step %d", i)
	}
	assert.Equal(t, p.memory, got.memory)
	assert.Equal(t, p.relocs, got.relocs)
	assert.Equal(t, []uint32{p.regs, p.paths, p.argv, p.env}, []uint32{got.regs, got.paths, got.argv, got.env})
	assert.Equal(t, data, encode(t, got))
}

// The program's arrays are what the kernel will read.
func TestProgramArrays(t *testing.T) {
	p := rich(t)
	for name, tt := range map[string]struct {
		at   uint32
		want []string
	}{
		"paths": {p.paths, []string{"/bin/sh", "/usr/bin/sh"}},
		"argv":  {p.argv, []string{"sh", "", "/bin/sh"}},
		"env":   {p.env, []string{"A=1", "B="}},
	} {
		var got []string
		for at := tt.at; order.Uint64(p.memory[at:]) != 0; at += 8 {
			s, _, ended := bytes.Cut(p.memory[order.Uint64(p.memory[at:]):], []byte{0})
			require.True(t, ended)
			got = append(got, string(s))
		}
		assert.Equal(t, tt.want, got, name)
	}
}

// What the executor does with a mapped plan: it adds the address to every relocated word.
func TestRelocationsLeadToTheirTargets(t *testing.T) {
	var b Builder
	m := b.Buffer(16, "")
	b.Pointer(m, 8, b.Bytes([]byte("target"), ""))
	p, err := b.Plan(shell)
	require.NoError(t, err)
	data := encode(t, p)
	memory := order.Uint32(data[OffMemory:])
	off := order.Uint64(data[uint64(memory)+m.off+8:])
	assert.Equal(t, "target", string(data[off:off+6]))
	assert.Equal(t, uint32(memory)+uint32(m.off)+8, order.Uint32(data[order.Uint32(data[OffRelocs:]):]))
	assert.Zero(t, memory%8)
}

func TestSizes(t *testing.T) {
	big := strings.Repeat("x", 128<<10-1)
	var b Builder
	var argv []string
	for i := range 16 { // 2 MiB, all different
		argv = append(argv, string(rune('a'+i))+big[1:])
	}
	p, err := b.Plan(Program{Paths: []string{"/bin/true"}, Argv: argv, Env: argv})
	require.NoError(t, err)
	data := encode(t, p)
	assert.Greater(t, len(data), 2<<20)
	assert.Less(t, len(data), 3<<20, "equal strings are there once")
	_, err = Decode(data)
	require.NoError(t, err)

	var full Builder
	full.Buffer(maxPlan, "")
	p, err = full.Plan(shell)
	require.NoError(t, err)
	_, err = p.Encode()
	require.ErrorContains(t, err, "more than 16777216")
}

func TestDecodeRefuses(t *testing.T) {
	good := encode(t, rich(t))
	regs, relocs, memory := order.Uint32(good[OffRegs:]), order.Uint32(good[OffRelocs:]), order.Uint32(good[OffMemory:])
	step := func(i int) int { return HeaderSize + StepSize*i }
	put32 := func(off int, v uint32) func([]byte) []byte {
		return func(d []byte) []byte { order.PutUint32(d[off:], v); return d }
	}
	put64 := func(off int, v uint64) func([]byte) []byte {
		return func(d []byte) []byte { order.PutUint64(d[off:], v); return d }
	}
	put8 := func(off int, v byte) func([]byte) []byte {
		return func(d []byte) []byte { d[off] = v; return d }
	}
	for name, change := range map[string]func([]byte) []byte{
		"nothing":                     func([]byte) []byte { return nil },
		"a header's part":             func(d []byte) []byte { return d[:HeaderSize-1] },
		"the last byte missing":       func(d []byte) []byte { return d[:len(d)-1] },
		"a byte more":                 func(d []byte) []byte { return append(d, 0) },
		"too much":                    func([]byte) []byte { return make([]byte, maxPlan+1) },
		"another format":              put8(0, 'x'),
		"another size":                put32(OffSize, 7),
		"too many steps":              put32(OffSteps, 1<<31),
		"registers elsewhere":         put32(OffRegs, 0),
		"too many registers":          put32(offNumRegs, 1<<31),
		"relocations elsewhere":       put32(OffRelocs, 0),
		"too many relocations":        put32(NumRelocs, 1<<31),
		"memory elsewhere":            put32(OffMemory, 0),
		"something in the header":     put8(headerEnd, 1),
		"something in a register":     put8(int(regs), 1),
		"paths before the memory":     put32(OffPaths, memory-8),
		"argv behind the memory":      put32(OffArgv, uint32(len(good))),
		"env over the end":            put32(OffEnv, uint32(len(good)-7)),
		"argv inside a string":        put32(OffArgv, memory+24),
		"a relocation to nowhere":     put32(int(relocs), uint32(len(good))),
		"a relocation of the header":  put32(int(relocs), 0),
		"relocations out of order":    put32(int(relocs), order.Uint32(good[relocs+4:])),
		"a target before the memory":  put64(int(order.Uint32(good[relocs:])), 0),
		"a target behind the memory":  put64(int(order.Uint32(good[relocs:])), uint64(len(good)+1)),
		"an unknown kind of step":     put8(step(0)+StepOp, 9),
		"an unknown call":             put8(step(0)+StepCall, 250),
		"an unknown kind of argument": put8(step(0)+StepKinds, 9),
		"an address in the header":    put64(step(0)+StepArgs+8, 8),
		"an address behind the end":   put64(step(0)+StepArgs+8, uint64(len(good)+1)),
		"a huge address":              put64(step(0)+StepArgs+8, 1<<60),
		"a register beyond":           put32(step(0)+StepDst, 2),
		"a put of 5 bytes":            put64(step(1)+StepArgs+16, 5),
		"a put with a fourth":         put64(step(1)+StepArgs+24, 1),
		"a register that is not set":  put64(step(1)+StepArgs+8, 1),
		"a put over the end":          put64(step(1)+StepArgs, uint64(len(good)-7)),
		"a comparison of everything":  put64(step(3)+StepArgs+16, 1<<40),
		"a wait for too much":         put64(step(4)+StepArgs+16, 1<<40),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(change(bytes.Clone(good)))
			require.Error(t, err)
			assert.ErrorContains(t, err, "plan: ")
		})
	}
}

// The last string of an array has to end within the memory.
func TestDecodeRefusesAnEndlessString(t *testing.T) {
	var b Builder
	p, err := b.Plan(shell)
	require.NoError(t, err)
	p.memory = append(p.memory, "no end"...)
	order.PutUint64(p.memory[p.argv:], uint64(len(p.memory)-1))
	_, err = Decode(encode(t, p))
	require.ErrorContains(t, err, "does not end")
}

// FuzzDecode: no bytes make Decode panic, and what it accepts is the one encoding of what it returns.
func FuzzDecode(f *testing.F) {
	good := encode(f, rich(f))
	f.Add(good)
	f.Add([]byte{})
	f.Add(good[:HeaderSize])
	for i := 8; i < len(good); i += 5 {
		bad := bytes.Clone(good)
		bad[i] ^= byte(1 + i)
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			assert.Nil(t, p)
			return
		}
		_ = p.String()
		again, err := p.Encode()
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, again), "the encoding of what was decoded differs")
	})
}
