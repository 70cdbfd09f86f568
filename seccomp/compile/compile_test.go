//go:build libseccomp

package main

import (
	"fmt"
	"strings"
	"testing"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/seccomp"
	"github.com/soulacy/toolcell/seccomp/internal/bpf"
	"github.com/soulacy/toolcell/seccomp/internal/policy"
	"github.com/soulacy/toolcell/seccomp/internal/policytest"
	"github.com/soulacy/toolcell/seccomp/internal/table"
)

func eachVariant(t *testing.T, test func(t *testing.T, arch *table.Arch, o seccomp.Options)) {
	for _, goarch := range table.Names() {
		for _, o := range []seccomp.Options{{}, {Inotify: true}} {
			t.Run(strings.TrimSuffix(seccomp.File(goarch, o), ".bpf"), func(t *testing.T) {
				arch, err := table.Get(goarch)
				require.NoError(t, err)
				test(t, arch, o)
			})
		}
	}
}

// TestEmbeddedProgramsAreCurrent compiles again: the embedded files belong to this profile and this generator.
func TestEmbeddedProgramsAreCurrent(t *testing.T) {
	eachVariant(t, func(t *testing.T, arch *table.Arch, o seccomp.Options) {
		want, err := compile(arch.Name, o)
		require.NoError(t, err)
		got, err := seccomp.Program(arch.Name, o)
		require.NoError(t, err)
		assert.Equal(t, want, got, "run go generate ./seccomp")
	})
}

// TestEngineReadsTheProfileTheSame compiles the profile as a container engine does, an allow-list row by row through
// libseccomp, and compares what that filter decides with what the profile says: the JSON's long form, with one row a
// bit, must survive libseccomp's own idea of rules.
func TestEngineReadsTheProfileTheSame(t *testing.T) {
	eachVariant(t, func(t *testing.T, arch *table.Arch, o seccomp.Options) {
		p, err := policy.Parse(seccomp.JSON(o))
		require.NoError(t, err)
		prog, known, err := engine(p, arch)
		require.NoError(t, err)
		require.Greater(t, len(known), 300)

		for _, nr := range arch.Calls() {
			name, _ := arch.Call(nr)
			rows := p.Rows(name)
			if !known[name] {
				rows = nil
			}
			same := func(args [6]uint64) error {
				want, err := policy.Decide(rows, p.Default(), args)
				if err != nil {
					return err
				}
				got, err := bpf.Run(prog, bpf.Data{Nr: nr, Arch: arch.Audit, Args: args})
				if err == nil && got != want {
					err = fmt.Errorf("%s%#x: the profile says %s, the engine %s", name, args, bpf.Action(want), bpf.Action(got))
				}
				return err
			}
			assert.NoError(t, same([6]uint64{}))
			assert.NoError(t, policytest.Args(rows, same))
		}
	})
}

// engine does what runc does with a profile: names that libseccomp does not know are left out, and so are rows that
// only repeat the default.
func engine(p *policy.Profile, arch *table.Arch) ([]bpf.Insn, map[string]bool, error) {
	f, err := libseccomp.NewFilter(action(p.Default()))
	if err != nil {
		return nil, nil, err
	}
	defer f.Release()
	scmpArch, err := only(f, arch)
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool)
	for _, r := range p.Syscalls {
		for _, name := range r.Names {
			nr, err := libseccomp.GetSyscallFromNameByArch(name, scmpArch)
			if err != nil || nr < 0 {
				continue
			}
			known[name] = true
			if r.Verdict() == p.Default() {
				continue
			}
			if err := add(f, name, r); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	prog, err := export(f)
	return prog, known, err
}

// only makes a filter one of a single architecture.
func only(f *libseccomp.ScmpFilter, arch *table.Arch) (libseccomp.ScmpArch, error) {
	scmpArch, err := libseccomp.GetArchFromString(arch.Name)
	if err != nil {
		return 0, err
	}
	native, err := libseccomp.GetNativeArch()
	if err != nil || native == scmpArch {
		return scmpArch, err
	}
	if err := f.AddArch(scmpArch); err != nil {
		return 0, err
	}
	return scmpArch, f.RemoveArch(native)
}

func add(f *libseccomp.ScmpFilter, name string, r policy.Row) error {
	nr, err := libseccomp.GetSyscallFromName(name)
	if err != nil {
		return err
	}
	act := libseccomp.ActAllow
	if r.Verdict() != bpf.Allow {
		act = action(r.Verdict())
	}
	if len(r.Args) == 0 {
		return f.AddRule(nr, act)
	}
	var conds []libseccomp.ScmpCondition
	for _, a := range r.Args {
		c, err := libseccomp.MakeCondition(a.Index, libseccomp.CompareMaskedEqual, a.Value, a.ValueTwo)
		if err != nil {
			return err
		}
		conds = append(conds, c)
	}
	return f.AddRuleConditional(nr, act, conds)
}
