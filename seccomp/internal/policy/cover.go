package policy

import "fmt"

// Cover checks the rows of one call: no two of them with different verdicts match the same arguments, and every
// combination of arguments is matched. Then the profile's default never decides the call, the order of the rows does
// not matter, and whoever reads the rows of all verdicts but one knows the rest.
func Cover(rows []Row) error {
	for i := range rows {
		for j := range rows[:i] {
			if rows[i].Verdict() != rows[j].Verdict() && !disjoint(cubeOf(rows[i]), cubeOf(rows[j])) {
				return fmt.Errorf("cover: rows %v and %v disagree", rows[j].Args, rows[i].Args)
			}
		}
	}
	var cubes []cube
	for _, r := range rows {
		cubes = append(cubes, cubeOf(r))
	}
	rest := subtractAll(cube{}, cubes)
	if len(rest) != 0 {
		return fmt.Errorf("cover: no row matches %v", rest[0])
	}
	return nil
}

// cube is the set of arguments whose low 32 bits equal want wherever mask is set.
type cube struct{ mask, want [maxArguments]uint32 }

func cubeOf(r Row) cube {
	var c cube
	for _, a := range r.Args {
		c.mask[a.Index], c.want[a.Index] = uint32(a.Value), uint32(a.ValueTwo)
	}
	return c
}

func disjoint(a, b cube) bool {
	for i := range a.mask {
		if a.mask[i]&b.mask[i]&(a.want[i]^b.want[i]) != 0 {
			return true
		}
	}
	return false
}

// subtract returns a without b: one cube for each bit that b fixes and a leaves open.
func subtract(a, b cube) []cube {
	if disjoint(a, b) {
		return []cube{a}
	}
	var out []cube
	for i := range a.mask {
		for bit := uint32(1); bit != 0; bit <<= 1 {
			if b.mask[i]&bit == 0 || a.mask[i]&bit != 0 {
				continue
			}
			a.mask[i] |= bit
			piece := a
			piece.want[i] |= ^b.want[i] & bit
			out = append(out, piece)
			a.want[i] |= b.want[i] & bit
		}
	}
	return out
}

// subtractAll returns a without any of the others, as disjoint cubes.
func subtractAll(a cube, others []cube) []cube {
	rest := []cube{a}
	for _, o := range others {
		var next []cube
		for _, c := range rest {
			next = append(next, subtract(c, o)...)
		}
		rest = next
	}
	return rest
}
