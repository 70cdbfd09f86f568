package plan

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteTo prints the plan, one line a step, as strace(1) would: the guarantee it serves, the call with its arguments,
// and what it is for. The environment's values are not shown.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	for i, s := range p.steps {
		fmt.Fprintf(&b, "%3d  %-22s %s\n", i, s.Guarantee, s.text())
	}
	if p.start != "" {
		fmt.Fprintf(&b, "%3d  %-22s %-100s # the program, in a process of its own\n", len(p.steps), "", p.start)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// String returns what WriteTo prints.
func (p *Plan) String() string {
	var b strings.Builder
	_, _ = p.WriteTo(&b) // a strings.Builder takes everything
	return b.String()
}

// String shows the program as the line after a shape's last step.
func (p Program) String() string {
	return fmt.Sprintf("     %-22s execve(%q, %d arguments, %d variables) # the program, in a process of its own\n", "", p.Paths, len(p.Argv), len(p.Env))
}

// text is the step as a line: the call and, behind a mark, what it is for.
func (s Step) text() string {
	var b strings.Builder
	if s.Dst != NoRegister {
		b.WriteString("r" + strconv.Itoa(int(s.Dst)) + " = ")
	}
	b.WriteString(s.verb() + "(")
	for i, a := range s.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.String())
	}
	b.WriteString(")")
	if s.Want > 0 {
		b.WriteString(" = " + strconv.FormatInt(s.Want, 10))
	}
	if s.Errno != 0 {
		b.WriteString(" or errno " + strconv.Itoa(int(s.Errno)))
	}
	return fmt.Sprintf("%-100s # %s", b.String(), s.Name)
}

func (s Step) verb() string {
	switch s.Op {
	case OpPut:
		return "put"
	case OpSame:
		return "same"
	case OpWait:
		return "wait"
	default:
		return s.Call.String()
	}
}

// String shows the argument as the compiler named it.
func (a Arg) String() string {
	switch {
	case a.text != "":
		return a.text
	case a.Kind == KindAddress:
		return "&" + strconv.FormatUint(a.Value, 10)
	case a.Kind == KindRegister:
		return "r" + strconv.FormatUint(a.Value, 10)
	default:
		return strconv.FormatInt(int64(a.Value), 10)
	}
}
