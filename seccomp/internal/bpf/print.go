package bpf

import (
	"fmt"
	"io"
)

// Print writes a program as text, one instruction a line. Call gives a system call's name where a number is
// compared; it may be nil.
func Print(w io.Writer, prog []Insn, call func(nr uint32) (string, bool)) error {
	loaded := uint32(OffNr)
	for pc, in := range prog {
		if in.Op == Load {
			loaded = in.K
		}
		text := in.text(pc)
		if call != nil && loaded == OffNr && in.Op == JEq {
			if name, ok := call(in.K); ok {
				text += "  ; " + name
			}
		}
		if _, err := fmt.Fprintf(w, "%4d  %s\n", pc, text); err != nil {
			return fmt.Errorf("print filter: %w", err)
		}
	}
	return nil
}

func (in Insn) text(pc int) string {
	switch in.Op {
	case Load:
		return "load " + field(in.K)
	case And:
		return fmt.Sprintf("and %#x", in.K)
	case Jump:
		return fmt.Sprintf("goto %d", pc+1+int(in.K))
	case Ret:
		return "return " + Action(in.K)
	}
	return fmt.Sprintf("if %s %s goto %d else %d", in.symbol(), in.operand(), pc+1+int(in.JT), pc+1+int(in.JF))
}

func (in Insn) symbol() string {
	switch in.Op {
	case JEq:
		return "=="
	case JGt:
		return ">"
	case JGe:
		return ">="
	default:
		return "&"
	}
}

func (in Insn) operand() string {
	if in.K < 0x1000 {
		return fmt.Sprint(in.K)
	}
	return fmt.Sprintf("%#x", in.K)
}

func field(off uint32) string {
	switch {
	case off == OffNr:
		return "number"
	case off == OffArch:
		return "architecture"
	case off < OffArgs:
		return fmt.Sprintf("data[%d]", off)
	case off%8 == 4:
		return fmt.Sprintf("arg%d high", (off-OffArgs)/8)
	default:
		return fmt.Sprintf("arg%d low", (off-OffArgs)/8)
	}
}

// Action spells a filter's return value.
func Action(v uint32) string {
	switch v & ActionMask {
	case Allow:
		return "allow"
	case Errno:
		return fmt.Sprintf("errno %d", v&DataMask)
	case KillProcess:
		return "kill process"
	default:
		return fmt.Sprintf("%#x", v)
	}
}
