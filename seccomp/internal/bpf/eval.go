package bpf

import "fmt"

// Data is what a filter sees of one system call, struct seccomp_data without the instruction pointer.
type Data struct {
	Nr   uint32
	Arch uint32
	Args [6]uint64
}

// Run executes a program, as the kernel would, and returns its action with the errno or other data in the low bits.
func Run(prog []Insn, d Data) (uint32, error) {
	var a uint32
	for pc := 0; pc < len(prog); {
		in := prog[pc]
		switch in.Op {
		case Ret:
			return in.K, nil
		case Load:
			a = d.word(in.K)
			pc++
		case And:
			a &= in.K
			pc++
		case Jump:
			pc += 1 + int(in.K)
		case JEq, JGt, JGe, JSet:
			pc += 1 + in.offset(a)
		default:
			return 0, fmt.Errorf("run filter: instruction %d: unknown operation %#x", pc, in.Op)
		}
	}
	return 0, fmt.Errorf("run filter: ran past the end")
}

func (in Insn) offset(a uint32) int {
	taken := false
	switch in.Op {
	case JEq:
		taken = a == in.K
	case JGt:
		taken = a > in.K
	case JGe:
		taken = a >= in.K
	case JSet:
		taken = a&in.K != 0
	}
	if taken {
		return int(in.JT)
	}
	return int(in.JF)
}

// word reads 32 bits of struct seccomp_data. The instruction pointer (offsets 8 and 12) reads as zero.
func (d Data) word(off uint32) uint32 {
	switch {
	case off == OffNr:
		return d.Nr
	case off == OffArch:
		return d.Arch
	case off < OffArgs:
		return 0
	}
	arg := d.Args[(off-OffArgs)/8]
	if off%8 == 4 {
		return uint32(arg >> 32)
	}
	return uint32(arg)
}
