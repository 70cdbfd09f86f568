// Package bpf reads, writes, runs and prints the classic BPF programs that seccomp(2) takes.
//
// Only the instructions that a seccomp filter of this module consists of are known; every other one is an error, so
// that a program that decodes here can be understood here whole.
package bpf

import (
	"encoding/binary"
	"fmt"
)

// Size is the length of one instruction, struct sock_filter, in bytes.
const Size = 8

// MaxLen is the longest program that the kernel takes, BPF_MAXINSNS in include/uapi/linux/bpf_common.h.
const MaxLen = 4096

// Operation codes, include/uapi/linux/bpf_common.h.
const (
	Load = 0x20 // BPF_LD|BPF_W|BPF_ABS: a word of struct seccomp_data
	And  = 0x54 // BPF_ALU|BPF_AND|BPF_K
	Jump = 0x05 // BPF_JMP|BPF_JA
	JEq  = 0x15 // BPF_JMP|BPF_JEQ|BPF_K
	JGt  = 0x25 // BPF_JMP|BPF_JGT|BPF_K
	JGe  = 0x35 // BPF_JMP|BPF_JGE|BPF_K
	JSet = 0x45 // BPF_JMP|BPF_JSET|BPF_K
	Ret  = 0x06 // BPF_RET|BPF_K
)

// Offsets into struct seccomp_data on a little-endian machine.
const (
	OffNr   = 0
	OffArch = 4
	OffArgs = 16
	dataLen = 64
)

// Actions of a filter, include/uapi/linux/seccomp.h. The low 16 bits carry the errno.
const (
	KillProcess = 0x80000000
	Errno       = 0x00050000
	Trace       = 0x7ff00000
	Allow       = 0x7fff0000

	ActionMask = 0xffff0000
	DataMask   = 0x0000ffff
)

// Insn is one instruction, struct sock_filter.
type Insn struct {
	Op     uint16
	JT, JF uint8
	K      uint32
}

// Decode reads a program and checks it: known operations only, aligned loads inside struct seccomp_data, every jump
// forward and inside the program, a return at the end.
func Decode(raw []byte) ([]Insn, error) {
	if len(raw) == 0 || len(raw)%Size != 0 || len(raw)/Size > MaxLen {
		return nil, fmt.Errorf("decode filter: %d bytes are not 1 to %d instructions of %d", len(raw), MaxLen, Size)
	}
	prog := make([]Insn, len(raw)/Size)
	for i := range prog {
		b := raw[i*Size:]
		prog[i] = Insn{binary.LittleEndian.Uint16(b), b[2], b[3], binary.LittleEndian.Uint32(b[4:])}
	}
	return prog, Check(prog)
}

// Encode writes a program as an array of struct sock_filter, little-endian.
func Encode(prog []Insn) []byte {
	raw := make([]byte, 0, len(prog)*Size)
	for _, in := range prog {
		raw = binary.LittleEndian.AppendUint16(raw, in.Op)
		raw = append(raw, in.JT, in.JF)
		raw = binary.LittleEndian.AppendUint32(raw, in.K)
	}
	return raw
}

// Check reports the first instruction that [Decode] would refuse.
func Check(prog []Insn) error {
	for i, in := range prog {
		if err := in.check(len(prog) - i - 1); err != nil {
			return fmt.Errorf("check filter: instruction %d: %w", i, err)
		}
	}
	return nil
}

// check wants to know how many instructions follow.
func (in Insn) check(after int) error {
	switch in.Op {
	case Load:
		if in.K%4 != 0 || in.K >= dataLen {
			return fmt.Errorf("load at offset %d", in.K)
		}
	case And:
	case Ret:
		return nil
	case Jump:
		if uint64(in.K) >= uint64(after) {
			return fmt.Errorf("jump over %d instructions, %d follow", in.K, after)
		}
	case JEq, JGt, JGe, JSet:
		if int(max(in.JT, in.JF)) >= after {
			return fmt.Errorf("jump over %d instructions, %d follow", max(in.JT, in.JF), after)
		}
	default:
		return fmt.Errorf("unknown operation %#x", in.Op)
	}
	if after == 0 {
		return fmt.Errorf("the program does not end in a return")
	}
	return nil
}

// conditional says whether an instruction has two targets.
func (in Insn) conditional() bool {
	return in.Op == JEq || in.Op == JGt || in.Op == JGe || in.Op == JSet
}

// Targets returns the places that the instruction at pc may go on at: none for a return.
func (in Insn) Targets(pc int) []int {
	switch {
	case in.Op == Ret:
		return nil
	case in.Op == Jump:
		return []int{pc + 1 + int(in.K)}
	case in.conditional():
		return []int{pc + 1 + int(in.JT), pc + 1 + int(in.JF)}
	default:
		return []int{pc + 1}
	}
}
