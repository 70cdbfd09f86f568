// Package plan holds the confinement of one call as data: a list of system calls with their arguments, in the order in
// which a freshly forked process makes them on itself, and the program it starts in the end.
//
// The caller's side compiles a profile into a [Plan] and encodes it; package forked executes it. The executor decides
// nothing: a plan has no branch and no loop, an argument is a number, an address inside the plan's own memory or the
// result of an earlier step, and a step that does not give the wanted result ends the process. Whoever wants to know
// what confines a call reads its plan ([Plan.WriteTo]); there is nothing else.
//
// The package is pure: it makes no system call and builds on every operating system.
//
// # Limitations
//
// A plan is as good as its compiler. The package checks that addresses stay inside the plan's memory and that
// registers exist, not that the calls confine anything.
package plan

import "fmt"

// Op is the kind of a step.
type Op uint8

// The kinds. Only [OpCall] is a system call.
const (
	// OpCall makes one system call.
	OpCall Op = iota + 1
	// OpPut stores its second argument's low bytes at the address in its first. The third argument is how many, 4 or 8.
	OpPut
	// OpSame compares two memory ranges of the plan: address, address, length. Unequal ranges are a fault.
	OpSame
	// OpWait reads exactly as many bytes as its third argument says from the descriptor in its first to the address in
	// its second. Anything else, end of file included, is a fault.
	OpWait
)

// Kind says what an argument's value means.
type Kind uint8

// The kinds of argument.
const (
	// KindNumber is the value itself.
	KindNumber Kind = iota
	// KindAddress is an offset into the plan's memory; the executor adds the address it is mapped at.
	KindAddress
	// KindRegister is the number of a register: the result of an earlier step.
	KindRegister
)

// The descriptors that the executor finds open. Everything else of its parent is closed before the first step.
const (
	// ChannelFD is the socket to the spawner, AttentionFD an eventfd that wakes it up.
	ChannelFD   = 3
	AttentionFD = 4
	// PlanFD is the plan and ProgramFD the program, a plan of its own without steps; the one is mapped before the first
	// step, the other after the last, and both are closed then.
	PlanFD    = 5
	ProgramFD = 6
	// FirstFD is the first of the descriptors that came with the request, in their order.
	FirstFD = 7
	// MaxFDs is how many descriptors a request may bring, those of the plans included.
	MaxFDs = 120
)

// AnyResult as a step's Want accepts every result that is no error.
const AnyResult int64 = -1

// NoRegister as a step's Dst keeps no result.
const NoRegister = ^uint32(0)

// Class says whose fault a failing step is.
type Class uint8

// The classes. The zero value blames the sandbox.
const (
	// ClassSetup: the confinement could not be made.
	ClassSetup Class = iota
	// ClassInvalid: the request named something that does not exist.
	ClassInvalid
	// ClassRefused: the host cannot give what a guarantee needs.
	ClassRefused
)

// Arg is one argument of a step.
type Arg struct {
	Kind  Kind
	Value uint64
	// text is how the printer shows the argument; "" shows the number.
	text string
}

// Step is one line of a plan.
type Step struct {
	// Name says what the step is for, in a few words.
	Name string
	// Guarantee is the guarantee that the step serves; "" for plumbing.
	Guarantee string
	// Op is the kind; Call is the system call of an OpCall.
	Op   Op
	Call Call
	Args []Arg
	// Want is the result that an OpCall must give; AnyResult accepts everything but an error.
	Want int64
	// Errno is one errno that is tolerated; 0 tolerates none.
	Errno uint32
	// Dst is the register that receives the result, or NoRegister.
	Dst uint32
	// Class and Fix say what a failure of this step means to the user.
	Class Class
	Fix   string
}

// Plan is a complete list of steps with its memory. Build one with a [Builder].
type Plan struct {
	steps  []Step
	memory []byte
	relocs []uint32
	regs   uint32
	// offsets into memory: zero-terminated arrays of addresses
	paths, argv, env uint32
	// start is the program for the printer.
	start string
}

// Steps returns the steps in order. The slice is the plan's own.
func (p *Plan) Steps() []Step { return p.steps }

// Step returns the step at index i as reported by the executor. It is false for an index that is no step, such as
// the start of the program, which comes after the last one.
func (p *Plan) Step(i int) (Step, bool) {
	if i < 0 || i >= len(p.steps) {
		return Step{}, false
	}
	return p.steps[i], true
}

// check reports the first thing that is malformed.
func (p *Plan) check() error {
	ready := make([]bool, p.regs)
	for i, s := range p.steps {
		if err := p.checkStep(s, ready); err != nil {
			return fmt.Errorf("plan: step %d (%s): %w", i, s.Name, err)
		}
		if s.Dst != NoRegister {
			ready[s.Dst] = s.Errno == 0
		}
	}
	return p.checkRelocs()
}

// checkRelocs checks that the relocations are in order, apart, and from memory to memory.
func (p *Plan) checkRelocs() error {
	size, end := uint64(len(p.memory)), uint64(0)
	for _, r := range p.relocs {
		at := uint64(r)
		if at < end || at+8 > size {
			return fmt.Errorf("plan: relocation at %d: it overlaps another, or the end of the memory", at)
		}
		if target := order.Uint64(p.memory[at:]); target > size {
			return fmt.Errorf("plan: relocation at %d: its target %d is outside the memory", at, target)
		}
		end = at + 8
	}
	return nil
}

// checkStep checks one step; ready says which registers hold a result when it runs.
func (p *Plan) checkStep(s Step, ready []bool) error {
	switch s.Op {
	case OpCall:
		if !s.Call.Valid() {
			return fmt.Errorf("unknown system call %d", s.Call)
		}
	case OpPut, OpSame, OpWait:
		if err := p.checkOperands(s); err != nil {
			return err
		}
		if s.Dst != NoRegister {
			return fmt.Errorf("has no result for register %d", s.Dst)
		}
	default:
		return fmt.Errorf("unknown kind of step %d", s.Op)
	}
	if len(s.Args) > maxArgs {
		return fmt.Errorf("%d arguments, more than %d", len(s.Args), maxArgs)
	}
	for n, a := range s.Args {
		if err := p.checkArg(a, 0); err != nil {
			return fmt.Errorf("argument %d: %w", n, err)
		}
		if a.Kind == KindRegister && !ready[a.Value] {
			return fmt.Errorf("argument %d: no earlier step is sure to set register %d", n, a.Value)
		}
	}
	if s.Dst != NoRegister && s.Dst >= p.regs {
		return fmt.Errorf("register %d of %d", s.Dst, p.regs)
	}
	return nil
}

// checkOperands checks the fixed shapes of the steps that are no system call, where a length goes with an address.
func (p *Plan) checkOperands(s Step) error {
	if len(s.Args) != 3 || s.Args[2].Kind != KindNumber {
		return fmt.Errorf("wants three arguments, the last a number")
	}
	n := s.Args[2].Value
	switch s.Op {
	case OpPut:
		if n != 4 && n != 8 {
			return fmt.Errorf("puts %d bytes, not 4 or 8", n)
		}
		return p.checkRange(s.Args[0], n)
	case OpSame:
		if err := p.checkRange(s.Args[0], n); err != nil {
			return err
		}
		return p.checkRange(s.Args[1], n)
	default:
		return p.checkRange(s.Args[1], n)
	}
}

func (p *Plan) checkRange(a Arg, n uint64) error {
	if a.Kind != KindAddress {
		return fmt.Errorf("wants an address")
	}
	return p.checkArg(a, n)
}

// checkArg checks that an address and the n bytes behind it lie in the plan's memory, and that a register exists.
func (p *Plan) checkArg(a Arg, n uint64) error {
	switch a.Kind {
	case KindNumber:
		return nil
	case KindAddress:
		if size := uint64(len(p.memory)); a.Value > size || n > size-a.Value {
			return fmt.Errorf("address %d+%d is outside the plan's %d bytes", a.Value, n, size)
		}
		return nil
	case KindRegister:
		if a.Value >= uint64(p.regs) {
			return fmt.Errorf("register %d of %d", a.Value, p.regs)
		}
		return nil
	default:
		return fmt.Errorf("unknown kind of argument %d", a.Kind)
	}
}
