//go:build libseccomp

package main

import (
	"fmt"
	"slices"

	"github.com/soulacy/toolcell/seccomp"
	"github.com/soulacy/toolcell/seccomp/internal/bpf"
	"github.com/soulacy/toolcell/seccomp/internal/policy"
	"github.com/soulacy/toolcell/seccomp/internal/table"
)

// compile returns the native program of the profile: prologue, libseccomp's tree, argument checks.
func compile(goarch string, o seccomp.Options) ([]byte, error) {
	arch, err := table.Get(goarch)
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(seccomp.JSON(o))
	if err != nil {
		return nil, err
	}
	rules, err := refusals(p, arch)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", goarch, err)
	}
	body, err := tree(rules)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", goarch, err)
	}
	prog := slices.Concat(prologue(arch, p.Default()), body)
	if prog, err = link(prog, rules); err != nil {
		return nil, fmt.Errorf("compile %s: %w", goarch, err)
	}
	return bpf.Encode(prog), bpf.Check(prog)
}

// rule is what happens to one call that is not simply allowed.
type rule struct {
	nr      uint32
	verdict uint32       // the action of the tree, or bpf.Trace and the rule's index: see link
	rows    []policy.Row // with arguments, when the verdict depends on them
}

// refusals is the complement of what the profile allows, over the calls of the table.
func refusals(p *policy.Profile, arch *table.Arch) ([]rule, error) {
	var rules []rule
	for _, nr := range arch.Calls() {
		name, _ := arch.Call(nr)
		rows := p.Rows(name)
		if err := policy.Cover(rows); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch {
		case len(rows) > 1:
			rules = append(rules, rule{nr, bpf.Trace | uint32(len(rules)), rows})
		case rows[0].Verdict() != bpf.Allow:
			rules = append(rules, rule{nr, rows[0].Verdict(), nil})
		}
	}
	return rules, nil
}

// prologue decides what needs no tree: another architecture or the x32 table dies; a number that no call of the
// table has gets the profile's default.
//
// The number -1 is let through to the default although it has the x32 bit: a tracer writes it to skip a call, and
// libseccomp makes the same exception.
func prologue(arch *table.Arch, noCall uint32) []bpf.Insn {
	prog := []bpf.Insn{
		{Op: bpf.Load, K: bpf.OffArch},
		{Op: bpf.JEq, JT: 1, K: arch.Audit},
		{Op: bpf.Ret, K: bpf.KillProcess},
		{Op: bpf.Load, K: bpf.OffNr},
	}
	if arch.X32 {
		prog = append(prog,
			bpf.Insn{Op: bpf.JGe, JF: 2, K: table.X32Bit},
			bpf.Insn{Op: bpf.JEq, JT: 1, K: ^uint32(0)},
			bpf.Insn{Op: bpf.Ret, K: bpf.KillProcess})
	}
	holes := arch.Holes()
	toDefault := uint8(2 * len(holes)) // from the first comparison to the return
	prog = append(prog, bpf.Insn{Op: bpf.JGt, JT: toDefault, K: arch.Max()})
	for i, h := range holes {
		last := uint8(0) // falls into the return, or jumps over it
		if i == len(holes)-1 {
			last = 1
		}
		left := toDefault - 2*uint8(i+1)
		prog = append(prog,
			bpf.Insn{Op: bpf.JGe, JF: 1 + last, K: h[0]},
			bpf.Insn{Op: bpf.JGt, JT: last, JF: left, K: h[1]})
	}
	if len(holes) == 0 {
		prog[len(prog)-1].JF = 1
	}
	return append(prog, bpf.Insn{Op: bpf.Ret, K: noCall})
}

// link replaces each return that stands for a rule with arguments by a jump to the checks, which follow the tree.
func link(prog []bpf.Insn, rules []rule) ([]bpf.Insn, error) {
	linked := make(map[uint32]bool)
	for pc := range len(prog) {
		in := prog[pc]
		if in.Op != bpf.Ret || in.K&bpf.ActionMask != bpf.Trace {
			continue
		}
		i := in.K & bpf.DataMask
		if int(i) >= len(rules) || rules[i].rows == nil || linked[i] {
			return nil, fmt.Errorf("link: unexpected return %#x at %d", in.K, pc)
		}
		linked[i] = true
		prog[pc] = bpf.Insn{Op: bpf.Jump, K: uint32(len(prog) - pc - 1)}
		code, err := checks(rules[i].rows)
		if err != nil {
			return nil, err
		}
		prog = append(prog, code...)
	}
	for i, r := range rules {
		if r.rows != nil && !linked[uint32(i)] {
			return nil, fmt.Errorf("link: the tree lost number %d", r.nr)
		}
	}
	return prog, nil
}
