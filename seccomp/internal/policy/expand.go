package policy

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// Expand replaces each "otherwise", a row without arguments for a call that other rows decide by arguments, by rows
// that match exactly what those leave over. In docker's format such a row alone would decide the call whatever its
// arguments, and a rule of libseccomp compares an argument at most once, so "every value but these" has to be written
// bit by bit. [Cover] proves the result.
func (p *Profile) Expand() error {
	var out []Row
	for _, r := range p.Syscalls {
		var listed []Row
		for _, name := range r.Names {
			listed = append(listed, p.Rows(name)...)
		}
		listed = slices.DeleteFunc(listed, func(o Row) bool { return len(o.Args) == 0 })
		if len(r.Args) > 0 || len(listed) == 0 {
			out = append(out, r)
			continue
		}
		if len(r.Names) != 1 {
			return fmt.Errorf("expand seccomp profile: %v: an otherwise is for one call", r.Names)
		}
		out = append(out, otherwise(r, listed)...)
	}
	p.Syscalls = out
	return nil
}

// otherwise is the row r for what the listed rows leave over. The comment stays with the first.
func otherwise(r Row, listed []Row) []Row {
	var taken []cube
	for _, l := range listed {
		taken = append(taken, cubeOf(l))
	}
	var rows []Row
	for _, c := range complement(taken) {
		r.Args = c.args()
		rows = append(rows, r)
		r.Comment = ""
	}
	return rows
}

// complement returns a small set of cubes that covers what the taken ones leave over.
func complement(taken []cube) []cube {
	rest := subtractAll(cube{}, taken)
	for i := range rest {
		rest[i] = rest[i].widen(taken)
	}
	slices.SortFunc(rest, compareCubes)
	for i := len(rest) - 1; i >= 0; i-- {
		others := slices.Delete(slices.Clone(rest), i, i+1)
		if len(subtractAll(rest[i], others)) == 0 {
			rest = others
		}
	}
	return rest
}

// widen drops every bit that a cube can do without and still hit none of the taken ones.
func (c cube) widen(taken []cube) cube {
	for i := range c.mask {
		for bit := uint32(1); bit != 0; bit <<= 1 {
			wide := c
			wide.mask[i] &^= bit
			wide.want[i] &^= bit
			if !slices.ContainsFunc(taken, func(t cube) bool { return !disjoint(wide, t) }) {
				c = wide
			}
		}
	}
	return c
}

// compareCubes puts cubes that look at many bits first.
func compareCubes(a, b cube) int {
	width := func(c cube) (n int) {
		for _, m := range c.mask {
			n += bits.OnesCount32(m)
		}
		return n
	}
	return cmp.Or(-cmp.Compare(width(a), width(b)), slices.Compare(a.mask[:], b.mask[:]), slices.Compare(a.want[:], b.want[:]))
}

func (c cube) args() []Arg {
	var args []Arg
	for i, m := range c.mask {
		if m != 0 {
			args = append(args, Arg{uint(i), uint64(m), uint64(c.want[i]), CmpMaskedEq})
		}
	}
	return args
}
