// Package policytest gives tests the arguments on which a profile and a filter could differ.
package policytest

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/soulacy/toolcell/seccomp/internal/policy"
)

const arguments = 6

// Args calls f with combinations of arguments for the rows of one call. One compared argument at a time takes every
// class of value: what the rows name, its neighbours, its complement, that value with each single bit flipped, and
// small numbers; the others take the values that rows name as a whole. Every combination comes once with clear and once with
// scattered high halves. Arguments that no row compares are zeros and ones. Args stops at the first error of f.
func Args(rows []policy.Row, f func(args [6]uint64) error) error {
	w := walker{f: f, seed: 0x9e3779b97f4a7c15}
	for index := range uint(arguments) {
		if len(named(rows, index, 1)) == 0 {
			continue
		}
		for i := range w.values {
			w.values[i] = named(rows, uint(i), wholeValue)
			if len(w.values[i]) == 0 {
				w.values[i] = named(rows, uint(i), 1)
			}
			if len(w.values[i]) == 0 {
				w.values[i] = []uint32{0, ^uint32(0)}
			}
		}
		w.values[index] = classes(rows, index)
		if err := w.walk(0); err != nil {
			return err
		}
	}
	return nil
}

// walker goes through the product of its values.
type walker struct {
	values [arguments][]uint32
	args   [arguments]uint64
	seed   uint64
	f      func(args [6]uint64) error
}

func (w *walker) walk(i int) error {
	if i == arguments {
		if err := w.f(w.args); err != nil {
			return err
		}
		return w.f(w.dirty())
	}
	for _, v := range w.values[i] {
		w.args[i] = uint64(v)
		if err := w.walk(i + 1); err != nil {
			return err
		}
	}
	return nil
}

// dirty returns the arguments with something in every high half.
func (w *walker) dirty() [arguments]uint64 {
	args := w.args
	for j := range args {
		w.seed = w.seed*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
		args[j] |= (w.seed>>32 | 1) << 32
	}
	return args
}

// wholeValue is the number of bits from which on a row means a value rather than single bits.
const wholeValue = 16

// named returns the values that rows compare one argument with, in at least so many bits.
func named(rows []policy.Row, index uint, atLeast int) []uint32 {
	set := make(map[uint32]bool)
	for _, r := range rows {
		for _, a := range r.Args {
			if a.Index == index && bits.OnesCount64(a.Value) >= atLeast {
				set[uint32(a.ValueTwo)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// classes returns the values worth trying for one argument.
func classes(rows []policy.Row, index uint) []uint32 {
	set := make(map[uint32]bool)
	for v := range uint32(300) {
		set[v] = true
	}
	for _, v := range named(rows, index, 1) {
		set[v], set[v+1], set[v-1], set[^v] = true, true, true, true
		for bit := uint32(1); bit != 0; bit <<= 1 {
			set[v^bit] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
