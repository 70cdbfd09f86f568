// Package policy reads docker's seccomp profile format and says what a profile decides for one system call.
//
// Only the part of the format that this module's profile uses is accepted; anything else is an error. A rule's
// arguments are compared by masked equality on their low 32 bits, because that is what the kernel reads of every
// argument that the profile looks at.
package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
)

// Names that docker's format uses.
const (
	ActAllow     = "SCMP_ACT_ALLOW"
	ActErrno     = "SCMP_ACT_ERRNO"
	CmpMaskedEq  = "SCMP_CMP_MASKED_EQ"
	archX86_64   = "SCMP_ARCH_X86_64"
	archAarch64  = "SCMP_ARCH_AARCH64"
	maxErrno     = 4095 // MAX_ERRNO, include/linux/err.h
	maxArguments = 6
)

// Profile is a whole profile: what no row names gets the default.
type Profile struct {
	DefaultAction   string `json:"defaultAction"`
	DefaultErrnoRet uint32 `json:"defaultErrnoRet"`
	ArchMap         []Arch `json:"archMap"`
	Syscalls        []Row  `json:"syscalls"`
}

// Arch is an architecture and the further ones that a kernel of it also runs.
type Arch struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

// Row is one decision for the calls that it names. It applies when every argument matches.
type Row struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet uint32   `json:"errnoRet,omitempty"`
	Args     []Arg    `json:"args,omitempty"`
	Comment  string   `json:"comment,omitempty"`
}

// Arg matches when the argument, masked with Value, equals ValueTwo.
type Arg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

// Parse reads and checks a profile.
func Parse(data []byte) (*Profile, error) {
	var p Profile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("parse seccomp profile: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("parse seccomp profile: %w", err)
	}
	return &p, nil
}

func (p *Profile) check() error {
	if p.DefaultAction != ActErrno || p.DefaultErrnoRet == 0 || p.DefaultErrnoRet > maxErrno {
		return fmt.Errorf("the default has to be an errno, not %s %d", p.DefaultAction, p.DefaultErrnoRet)
	}
	for _, a := range p.ArchMap {
		if len(a.SubArchitectures) != 0 || (a.Architecture != archX86_64 && a.Architecture != archAarch64) {
			return fmt.Errorf("architecture %s %v", a.Architecture, a.SubArchitectures)
		}
	}
	for i, r := range p.Syscalls {
		if err := r.check(); err != nil {
			return fmt.Errorf("row %d %v: %w", i, r.Names, err)
		}
	}
	return nil
}

func (r *Row) check() error {
	switch {
	case len(r.Names) == 0:
		return fmt.Errorf("no names")
	case r.Action == ActAllow && r.ErrnoRet != 0:
		return fmt.Errorf("an errno in a row that allows")
	case r.Action == ActErrno && (r.ErrnoRet == 0 || r.ErrnoRet > maxErrno):
		return fmt.Errorf("errno %d", r.ErrnoRet)
	case r.Action != ActAllow && r.Action != ActErrno:
		return fmt.Errorf("action %q", r.Action)
	}
	for i, a := range r.Args {
		if a.Op != CmpMaskedEq || a.Index >= maxArguments || a.Value == 0 || a.Value > math.MaxUint32 || a.ValueTwo&^a.Value != 0 {
			return fmt.Errorf("argument %+v", a)
		}
		if slices.ContainsFunc(r.Args[:i], func(b Arg) bool { return a.Index == b.Index }) {
			return fmt.Errorf("argument %d twice", a.Index)
		}
	}
	return nil
}

// Verdict is the row's action as a filter returns it.
func (r *Row) Verdict() uint32 {
	if r.Action == ActAllow {
		return bpf.Allow
	}
	return bpf.Errno | r.ErrnoRet
}

// Default is the verdict on a call that no row names, as a filter returns it.
func (p *Profile) Default() uint32 { return bpf.Errno | p.DefaultErrnoRet }

// Rows returns the rows that name a call.
func (p *Profile) Rows(name string) []Row {
	var rows []Row
	for _, r := range p.Syscalls {
		if slices.Contains(r.Names, name) {
			rows = append(rows, r)
		}
	}
	return rows
}

// Evaluate returns the verdict on a call. Two rows that match and disagree are an error: engines differ in which of
// them they would take.
func (p *Profile) Evaluate(name string, args [6]uint64) (uint32, error) {
	verdict, err := Decide(p.Rows(name), p.Default(), args)
	if err != nil {
		return 0, fmt.Errorf("evaluate seccomp profile: %s: %w", name, err)
	}
	return verdict, nil
}

// Decide is [Profile.Evaluate] for the rows of one call: fallback is the verdict when none of them matches.
func Decide(rows []Row, fallback uint32, args [6]uint64) (uint32, error) {
	verdict, found := fallback, false
	for i := range rows {
		if !rows[i].matches(args) {
			continue
		}
		if v := rows[i].Verdict(); found && v != verdict {
			return 0, fmt.Errorf("rows disagree on %v: %s and %s", args, bpf.Action(verdict), bpf.Action(v))
		}
		verdict, found = rows[i].Verdict(), true
	}
	return verdict, nil
}

func (r *Row) matches(args [6]uint64) bool {
	for _, a := range r.Args {
		if args[a.Index]&a.Value != a.ValueTwo {
			return false
		}
	}
	return true
}
