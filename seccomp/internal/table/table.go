// Package table knows the system call numbers of the architectures that the profile covers.
//
// The data is syscalls.tsv, generated from golang.org/x/sys/unix, so that a call that the installed libseccomp does
// not know yet still has a number here. A number above [Arch.Max] is newer than the table.
package table

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:generate go run gen.go

//go:embed syscalls.tsv
var data string

// Audit architecture tokens, include/uapi/linux/audit.h.
const (
	auditX86_64  = 0xc000003e
	auditAarch64 = 0xc00000b7
)

// Arch is the table of one architecture.
type Arch struct {
	Name    string // as GOARCH spells it
	Audit   uint32 // AUDIT_ARCH_*, the value a filter reads
	X32     bool   // the architecture has a second table behind bit 30 of the number
	numbers map[string]uint32
	names   map[uint32]string
}

// X32Bit marks a number of the x32 table, __X32_SYSCALL_BIT in arch/x86/include/uapi/asm/unistd.h.
const X32Bit = 0x40000000

// Names of the architectures that have a table.
func Names() []string { return []string{"amd64", "arm64"} }

// Get returns the table of a GOARCH, or an error when there is none.
func Get(goarch string) (*Arch, error) {
	a := &Arch{Name: goarch, numbers: make(map[string]uint32), names: make(map[uint32]string)}
	column := 0
	switch goarch {
	case "amd64":
		a.Audit, a.X32, column = auditX86_64, true, 1
	case "arm64":
		a.Audit, column = auditAarch64, 2
	default:
		return nil, fmt.Errorf("system call table: no table for architecture %q", goarch)
	}
	return a, a.parse(column)
}

func (a *Arch) parse(column int) error {
	for l := range strings.Lines(data) {
		if strings.HasPrefix(l, "#") {
			continue
		}
		f := strings.Fields(l)
		if len(f) != 3 {
			return fmt.Errorf("system call table: bad line %q", l)
		}
		if f[column] == "-" {
			continue
		}
		nr, err := strconv.ParseUint(f[column], 10, 32)
		if err != nil {
			return fmt.Errorf("system call table: %w", err)
		}
		a.numbers[f[0]], a.names[uint32(nr)] = uint32(nr), f[0]
	}
	return nil
}

// Number returns the number of a call, and whether the architecture has it.
func (a *Arch) Number(name string) (uint32, bool) {
	nr, ok := a.numbers[name]
	return nr, ok
}

// Call returns the name of a number, and whether the table has it.
func (a *Arch) Call(nr uint32) (string, bool) {
	n, ok := a.names[nr]
	return n, ok
}

// Calls returns the numbers of the table in order.
func (a *Arch) Calls() []uint32 { return slices.Sorted(maps.Keys(a.names)) }

// Max is the highest number of the table.
func (a *Arch) Max() uint32 { return slices.Max(a.Calls()) }

// Holes returns the ranges between 0 and [Arch.Max], first and last included, that no call has.
func (a *Arch) Holes() [][2]uint32 {
	var holes [][2]uint32
	next := uint32(0)
	for _, nr := range a.Calls() {
		if nr > next {
			holes = append(holes, [2]uint32{next, nr - 1})
		}
		next = nr + 1
	}
	return holes
}
