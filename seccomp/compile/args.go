//go:build libseccomp

package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
	"github.com/soulacy/toolcell/seccomp/internal/policy"
)

// checks compiles the rows of one call. Their verdicts are disjoint and leave nothing out (policy.Cover), so the rows
// of the most frequent verdict need no code: they are what is left when no other row matches.
func checks(rows []policy.Row) ([]bpf.Insn, error) {
	rest := mostFrequent(rows)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r policy.Row) bool { return r.Verdict() == rest })
	prog, err := block(rows, 0)
	return append(prog, bpf.Insn{Op: bpf.Ret, K: rest}), err
}

// block compiles rows that agree in their first depth arguments, which have been compared: it returns the verdict of
// the first row that matches and otherwise goes on after itself. Neighbours that begin alike share the comparison.
func block(rows []policy.Row, depth int) ([]bpf.Insn, error) {
	var prog []bpf.Insn
	var loaded policy.Arg // whose masked value is in the accumulator; none while Value is 0
	for len(rows) > 0 {
		if len(rows[0].Args) == depth {
			return append(prog, bpf.Insn{Op: bpf.Ret, K: rows[0].Verdict()}), nil
		}
		arg, n := rows[0].Args[depth], alike(rows, depth)
		body, err := block(rows[:n], depth+1)
		if err != nil {
			return nil, err
		}
		if len(body) > math.MaxUint8 {
			return nil, fmt.Errorf("%v: the rows need a jump over %d instructions", rows[0].Names, len(body))
		}
		if arg.Index != loaded.Index || arg.Value != loaded.Value {
			prog = append(prog, load(arg)...)
		}
		prog = append(prog, bpf.Insn{Op: bpf.JEq, JF: uint8(len(body)), K: uint32(arg.ValueTwo)})
		prog = append(prog, body...)
		if loaded = arg; len(body) > 1 {
			loaded = policy.Arg{} // the body compares something else, and may go on here
		}
		rows = rows[n:]
	}
	return prog, nil
}

// alike counts the rows that have the first one's argument at depth.
func alike(rows []policy.Row, depth int) int {
	n := slices.IndexFunc(rows, func(r policy.Row) bool {
		return len(r.Args) <= depth || r.Args[depth] != rows[0].Args[depth]
	})
	if n < 0 {
		return len(rows)
	}
	return n
}

// load puts the masked low half of an argument into the accumulator.
func load(a policy.Arg) []bpf.Insn {
	prog := []bpf.Insn{{Op: bpf.Load, K: uint32(bpf.OffArgs + 8*a.Index)}}
	if mask := uint32(a.Value); mask != math.MaxUint32 {
		prog = append(prog, bpf.Insn{Op: bpf.And, K: mask})
	}
	return prog
}

// mostFrequent is the verdict of the most rows, the first of several.
func mostFrequent(rows []policy.Row) uint32 {
	count := make(map[uint32]int)
	for _, r := range rows {
		count[r.Verdict()]++
	}
	best := rows[0].Verdict()
	for _, r := range rows {
		if count[r.Verdict()] > count[best] {
			best = r.Verdict()
		}
	}
	return best
}
