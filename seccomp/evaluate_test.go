package seccomp

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
	"github.com/soulacy/toolcell/seccomp/internal/policy"
	"github.com/soulacy/toolcell/seccomp/internal/policytest"
	"github.com/soulacy/toolcell/seccomp/internal/table"
)

var update = flag.Bool("update", false, "write the golden files")

// filter is one program beside the profile and the table that it was compiled from.
type filter struct {
	arch    *table.Arch
	profile *policy.Profile
	prog    []bpf.Insn
}

// eachFilter runs a test for every architecture and option.
func eachFilter(t *testing.T, test func(t *testing.T, f filter)) {
	for _, goarch := range table.Names() {
		for _, o := range []Options{{}, {Inotify: true}} {
			t.Run(strings.TrimSuffix(File(goarch, o), ".bpf"), func(t *testing.T) {
				raw, err := Program(goarch, o)
				require.NoError(t, err)
				prog, err := bpf.Decode(raw)
				require.NoError(t, err)
				arch, err := table.Get(goarch)
				require.NoError(t, err)
				p, err := policy.Parse(JSON(o))
				require.NoError(t, err)
				test(t, filter{arch, p, prog})
			})
		}
	}
}

// want is what the profile says about a number of the filter's own architecture.
func (f filter) want(nr uint32, args [6]uint64) (uint32, error) {
	name, ok := f.arch.Call(nr)
	if !ok {
		return f.profile.Default(), nil
	}
	return f.profile.Evaluate(name, args)
}

func (f filter) got(t *testing.T, d bpf.Data) uint32 {
	t.Helper()
	action, err := bpf.Run(f.prog, d)
	require.NoError(t, err)
	return action
}

func TestProgramAgreesWithProfileOnEveryNumber(t *testing.T) {
	eachFilter(t, func(t *testing.T, f filter) {
		for nr := range uint32(1024) {
			for _, v := range []uint64{0, 1, ^uint64(0)} {
				args := [6]uint64{v, v, v, v, v, v}
				want, err := f.want(nr, args)
				require.NoError(t, err)
				got := f.got(t, bpf.Data{Nr: nr, Arch: f.arch.Audit, Args: args})
				assert.Equal(t, bpf.Action(want), bpf.Action(got), "number %d with %#x", nr, v)
			}
		}
	})
}

func TestProgramAgreesWithProfileOnArguments(t *testing.T) {
	eachFilter(t, func(t *testing.T, f filter) {
		compared := 0
		for _, nr := range f.arch.Calls() {
			name, _ := f.arch.Call(nr)
			rows := f.profile.Rows(name)
			if len(rows) == 1 {
				continue
			}
			verdicts := make(map[uint32]int)
			err := policytest.Args(rows, func(args [6]uint64) error {
				want, err := policy.Decide(rows, f.profile.Default(), args)
				if err != nil {
					return err
				}
				verdicts[want]++
				got, err := bpf.Run(f.prog, bpf.Data{Nr: nr, Arch: f.arch.Audit, Args: args})
				if err == nil && got != want {
					err = fmt.Errorf("%s%#x: the profile says %s, the program %s", name, args, bpf.Action(want), bpf.Action(got))
				}
				return err
			})
			assert.NoError(t, err)
			assert.Greater(t, len(verdicts), 1, "%s: the arguments tried make no difference", name)
			compared++
		}
		assert.Positive(t, compared)
	})
}

func TestProgramKillsOtherArchitectures(t *testing.T) {
	// AUDIT_ARCH_I386, ARM, X86_64, AARCH64, and none.
	for _, audit := range []uint32{0x40000003, 0x40000028, 0xc000003e, 0xc00000b7, 0, ^uint32(0)} {
		eachFilter(t, func(t *testing.T, f filter) {
			for nr := range uint32(1024) {
				got := f.got(t, bpf.Data{Nr: nr, Arch: audit})
				assert.Equal(t, audit != f.arch.Audit, got == bpf.KillProcess, "number %d of architecture %#x", nr, audit)
			}
		})
	}
}

func TestProgramAboveTheTable(t *testing.T) {
	eachFilter(t, func(t *testing.T, f filter) {
		for _, nr := range []uint32{f.arch.Max() + 1, 600, 1024, 1 << 16, table.X32Bit - 1, ^uint32(0)} {
			assert.Equal(t, f.profile.Default(), f.got(t, bpf.Data{Nr: nr, Arch: f.arch.Audit}), "number %#x", nr)
		}
		want := f.profile.Default()
		if f.arch.X32 {
			want = bpf.KillProcess
		}
		for nr := range uint32(1024) {
			assert.Equal(t, want, f.got(t, bpf.Data{Nr: table.X32Bit | nr, Arch: f.arch.Audit}), "x32 number %d", nr)
		}
		assert.Equal(t, want, f.got(t, bpf.Data{Nr: ^uint32(1), Arch: f.arch.Audit}))
	})
}

func TestProfileLeavesNothingToTheDefault(t *testing.T) {
	eachFilter(t, func(t *testing.T, f filter) {
		for _, nr := range f.arch.Calls() {
			name, _ := f.arch.Call(nr)
			assert.NoError(t, policy.Cover(f.profile.Rows(name)), name)
		}
	})
}

func TestProfileNamesOnlyCallsOfTheTables(t *testing.T) {
	p, err := policy.Parse(JSON(Options{}))
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, goarch := range table.Names() {
		arch, err := table.Get(goarch)
		require.NoError(t, err)
		for _, nr := range arch.Calls() {
			name, _ := arch.Call(nr)
			known[name] = true
		}
	}
	for _, r := range p.Syscalls {
		for _, n := range r.Names {
			assert.True(t, known[n], n)
		}
	}
}

func TestProfileIsCurrent(t *testing.T) {
	source, err := os.ReadFile("policy.json")
	require.NoError(t, err)
	p, err := policy.Parse(source)
	require.NoError(t, err)
	require.NoError(t, p.Expand())
	want, err := p.Encode()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(JSON(Options{})), "run go generate ./seccomp")
}

func TestInotifyOptionChangesInotifyOnly(t *testing.T) {
	strict, err := policy.Parse(JSON(Options{}))
	require.NoError(t, err)
	open, err := policy.Parse(JSON(Options{Inotify: true}))
	require.NoError(t, err)
	require.Len(t, open.Syscalls, len(strict.Syscalls))
	var changed []string
	for i, r := range open.Syscalls {
		if !assert.ObjectsAreEqual(strict.Syscalls[i], r) {
			changed = append(changed, r.Names...)
			assert.EqualValues(t, bpf.Allow, r.Verdict())
		}
	}
	assert.Equal(t, []string{"inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch"}, changed)
}

func TestJSONBelongsToTheCaller(t *testing.T) {
	data := JSON(Options{})
	clear(data)
	assert.True(t, json.Valid(JSON(Options{})))
	program, err := Program("amd64", Options{})
	require.NoError(t, err)
	clear(program)
	_, err = Program("amd64", Options{})
	assert.NoError(t, err)
}

func TestProgramOfUnknownArchitecture(t *testing.T) {
	for _, goarch := range []string{"", "386", "riscv64", "../default_amd64"} {
		_, err := Program(goarch, Options{})
		assert.Error(t, err, goarch)
		_, err = Dump(goarch, Options{})
		assert.Error(t, err, goarch)
	}
}

func TestDumpGolden(t *testing.T) {
	for _, goarch := range table.Names() {
		got, err := Dump(goarch, Options{})
		require.NoError(t, err)
		golden := filepath.Join("testdata", "default_"+goarch+".txt")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
}
