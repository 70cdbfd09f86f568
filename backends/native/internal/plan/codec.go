package plan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// The encoded form: a header, the steps, the registers, the relocations, the memory. Numbers have the machine's byte
// order, since the reader is always a process of the same machine. The executor finds its way by the constants below.
const (
	// Magic opens an encoded plan; the last digit is the version of the format.
	Magic uint64 = 0x31_6e616c_706c6c63 // "cllplan1" on a little-endian machine

	// HeaderSize is the size of the header.
	HeaderSize = 64
	// Offsets of the header's 32-bit fields: the number of steps, where each part starts, and the program's arrays.
	OffSteps   = 8
	OffRegs    = 12
	OffRelocs  = 16
	OffMemory  = 20
	OffSize    = 24
	NumRelocs  = 28
	OffPaths   = 32
	OffArgv    = 36
	OffEnv     = 40
	offNumRegs = 44
	headerEnd  = 48

	// StepSize is the size of a step, and the rest its fields.
	StepSize  = 72
	StepOp    = 0
	StepCall  = 1
	StepKinds = 2
	StepDst   = 8
	StepErrno = 12
	StepWant  = 16
	StepArgs  = 24

	maxArgs = 6
)

// maxPlan bounds an encoded plan: argv and environment, each of 2 MiB at most, and the files of the image.
const maxPlan = 16 << 20

var order = binary.NativeEndian

// Encode returns the plan as the executor reads it.
func (p *Plan) Encode() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	regs := HeaderSize + StepSize*len(p.steps)
	relocs := regs + 8*int(p.regs)
	memory := (relocs + 4*len(p.relocs) + 7) &^ 7
	size := memory + len(p.memory)
	if size > maxPlan {
		return nil, fmt.Errorf("plan: %d bytes, more than %d", size, maxPlan)
	}
	out := make([]byte, size)
	order.PutUint64(out, Magic)
	for off, v := range map[int]int{
		OffSteps: len(p.steps), OffRegs: regs, OffRelocs: relocs, OffMemory: memory, OffSize: size,
		NumRelocs: len(p.relocs), offNumRegs: int(p.regs),
		OffPaths: memory + int(p.paths), OffArgv: memory + int(p.argv), OffEnv: memory + int(p.env),
	} {
		order.PutUint32(out[off:], uint32(v))
	}
	for i, s := range p.steps {
		encodeStep(out[HeaderSize+StepSize*i:], s, uint64(memory))
	}
	for i, r := range p.relocs {
		order.PutUint32(out[relocs+4*i:], uint32(memory)+r)
	}
	copy(out[memory:], p.memory)
	for _, r := range p.relocs {
		at := out[memory+int(r):]
		order.PutUint64(at, order.Uint64(at)+uint64(memory))
	}
	return out, nil
}

func encodeStep(out []byte, s Step, memory uint64) {
	out[StepOp] = byte(s.Op)
	out[StepCall] = byte(s.Call)
	order.PutUint32(out[StepDst:], s.Dst)
	order.PutUint32(out[StepErrno:], s.Errno)
	order.PutUint64(out[StepWant:], uint64(s.Want))
	for i, a := range s.Args {
		out[StepKinds+i] = byte(a.Kind)
		v := a.Value
		if a.Kind == KindAddress {
			v += memory
		}
		order.PutUint64(out[StepArgs+8*i:], v)
	}
}

// Decode reads an encoded plan back and checks everything that the executor relies on. What it returns encodes to the
// same bytes. Names and texts are not part of the encoded form.
func Decode(data []byte) (*Plan, error) {
	if len(data) < HeaderSize || len(data) > maxPlan || order.Uint64(data) != Magic {
		return nil, fmt.Errorf("plan: not an encoded plan")
	}
	field := func(off int) uint64 { return uint64(order.Uint32(data[off:])) }
	var (
		steps, nregs, nrelocs = field(OffSteps), field(offNumRegs), field(NumRelocs)
		regs, relocs, memory  = field(OffRegs), field(OffRelocs), field(OffMemory)
	)
	if field(OffSize) != uint64(len(data)) || regs != HeaderSize+StepSize*steps || relocs != regs+8*nregs ||
		memory != (relocs+4*nrelocs+7)&^7 || memory > uint64(len(data)) {
		return nil, fmt.Errorf("plan: the header's sizes contradict each other")
	}
	if !zero(data[headerEnd:HeaderSize]) || !zero(data[regs:relocs]) || !zero(data[relocs+4*nrelocs:memory]) {
		return nil, fmt.Errorf("plan: the registers or the gaps are not empty")
	}
	p := &Plan{regs: uint32(nregs), memory: append([]byte(nil), data[memory:]...)}
	p.steps = make([]Step, 0, steps) // at most len(data)/StepSize, as was checked
	args := make([]Arg, maxArgs*steps)
	for i := range steps {
		s, err := decodeStep(data[HeaderSize+StepSize*i:], memory, args[maxArgs*i:][:0:maxArgs])
		if err != nil {
			return nil, fmt.Errorf("plan: step %d: %w", i, err)
		}
		p.steps = append(p.steps, s)
	}
	for i := range nrelocs {
		if err := p.decodeReloc(uint64(order.Uint32(data[relocs+4*i:])), memory); err != nil {
			return nil, err
		}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	for dst, off := range map[*uint32]int{&p.paths: OffPaths, &p.argv: OffArgv, &p.env: OffEnv} {
		if field(off) < memory {
			return nil, fmt.Errorf("plan: an array of the program is outside the memory")
		}
		*dst = uint32(field(off) - memory)
		if err := p.checkVector(uint64(*dst)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func zero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

// checkVector checks an array of the program: addresses of zero-terminated strings, then a zero.
func (p *Plan) checkVector(at uint64) error {
	last := bytes.LastIndexByte(p.memory, 0)
	for ; at+8 <= uint64(len(p.memory)); at += 8 {
		v := order.Uint64(p.memory[at:])
		if _, isAddress := slices.BinarySearch(p.relocs, uint32(at)); !isAddress {
			if v == 0 {
				return nil
			}
			return fmt.Errorf("plan: an array of the program has the number %d where an address belongs", v)
		}
		if int64(v) > int64(last) {
			return fmt.Errorf("plan: a string of the program does not end")
		}
	}
	return fmt.Errorf("plan: an array of the program does not end")
}

func (p *Plan) decodeReloc(off, memory uint64) error {
	if off < memory || off-memory+8 > uint64(len(p.memory)) {
		return fmt.Errorf("plan: relocation at %d is outside the memory", off)
	}
	at := p.memory[off-memory:]
	target := order.Uint64(at)
	if target < memory {
		return fmt.Errorf("plan: relocation to %d is outside the memory", target)
	}
	order.PutUint64(at, target-memory)
	p.relocs = append(p.relocs, uint32(off-memory))
	return nil
}

// decodeStep reads one step; args is room for its arguments.
func decodeStep(data []byte, memory uint64, args []Arg) (Step, error) {
	s := Step{
		Args: args,
		Op:   Op(data[StepOp]), Call: Call(data[StepCall]), Dst: order.Uint32(data[StepDst:]),
		Errno: order.Uint32(data[StepErrno:]), Want: int64(order.Uint64(data[StepWant:])),
	}
	for i := range maxArgs {
		a := Arg{Kind: Kind(data[StepKinds+i]), Value: order.Uint64(data[StepArgs+8*i:])}
		if a.Kind == KindAddress {
			if a.Value < memory || a.Value > math.MaxUint32 {
				return s, fmt.Errorf("address %d is outside the memory", a.Value)
			}
			a.Value -= memory
		}
		s.Args = append(s.Args, a)
	}
	if s.Op != OpCall {
		if !zero(data[StepKinds+3:StepKinds+maxArgs]) || !zero(data[StepArgs+8*3:StepSize]) {
			return s, fmt.Errorf("more than three arguments")
		}
		s.Args = s.Args[:3]
	}
	return s, nil
}
