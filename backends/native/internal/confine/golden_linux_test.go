package confine

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
)

var update = flag.Bool("update", false, "write the golden plans again")

// fixed is a specification that depends on nothing of the machine.
func fixed() Spec {
	return Spec{
		Kernel: Kernel{
			NewMountAPI: true, Landlock: 6, LastCap: 2, CPUs: 64,
			MaskedDirs: []string{"/proc/acpi"}, MaskedFiles: []string{"/proc/keys"}, ReadonlyProc: []string{"/proc/sys"},
		},
		Identity: rootfs.Identity{UID: 65532, GID: 65532}, DropGroups: true,
		Image: &rootfs.Image{
			Name: "host", Dirs: []string{"/etc", "/usr"}, Links: []rootfs.Link{{Path: "/bin", Target: "usr/bin"}},
			Files: []rootfs.File{{Path: "/etc/shells", Mode: 0o644, Data: []byte("/bin/sh\n")}},
			Binds: []rootfs.Bind{{Source: "/usr", Target: "/usr", Exec: true}, {Source: "/etc/ssl", Target: "/etc/ssl"}},
		},
		Scratch: Scratch{TmpBytes: 64 << 20, ShmBytes: 1 << 20}, Limits: Limits{OpenFiles: 1024, FileBytes: 1 << 30},
		Hostname: "sandbox", Dir: "/tmp", Seccomp: make([]byte, 16),
		FDs: FDs{Cgroups: []int{plan.FirstFD}, Stdin: plan.FirstFD + 1, Stdout: plan.FirstFD + 2, Stderr: plan.FirstFD + 3},
	}
}

// mounted adds mounts of every kind: of a descriptor and of a path, of a file, recursive, executable, on the scratch.
func mounted(s *Spec) {
	s.Mounts = []Mount{
		{FD: plan.FirstFD + 4, Source: "/srv/data", Target: "/data"},
		{FD: plan.FirstFD + 5, Source: "/srv/one file", Target: "/deep/er/one file", File: true, Writable: true},
		{Source: "/opt/tool", DevMajor: 8, DevMinor: 1, Inode: 42, Target: "/opt/tool", Exec: true, Recursive: true},
		{Source: "/srv/x", DevMajor: 8, DevMinor: 1, Inode: 43, Target: "/tmp/x", Writable: true},
	}
}

// variants are the golden plans.
func variants() map[string]func(*Spec) {
	abi := func(n int) func(*Spec) { return func(s *Spec) { s.Kernel.Landlock = n } }
	return map[string]func(*Spec){
		"default":    func(*Spec) {},
		"mounts":     mounted,
		"old-api":    func(s *Spec) { mounted(s); s.Kernel.NewMountAPI = false },
		"landlock-0": abi(0), "landlock-1": abi(1), "landlock-2": abi(2), "landlock-5": abi(5), "landlock-9": abi(9),
		"no-cgroups": func(s *Spec) { s.FDs.Cgroups, s.Limits.CPUSeconds = nil, 60 },
		"direct": func(s *Spec) {
			s.Direct, s.Ignored, s.FDs.MemfdNoexec = true, []int{1, 13}, plan.FirstFD+4
		},
		"armed":       func(s *Spec) { s.Armed, s.FDs.Stdin, s.FDs.Stdout, s.FDs.Stderr = true, 0, 0, 0 },
		"armed-input": func(s *Spec) { s.Armed, s.FDs.Stdin, s.FDs.Stdout, s.FDs.Stderr = true, 1, 0, 0 },
		"prepared": func(s *Spec) {
			mounted(s)
			s.Prepared, s.Mounts[2].FD, s.Mounts[3].FD = true, plan.FirstFD+6, plan.FirstFD+7
		},
		"spare": func(s *Spec) { s.Prepared, s.Spare = true, true },
		"ordinary": func(s *Spec) {
			s.DropGroups, s.Scratch.Exec, s.FDs.Stdin = false, true, 0
		},
	}
}

// A change of what a call does to itself is a change of these files, which a reviewer reads.
func TestGoldenPlans(t *testing.T) {
	for name, vary := range variants() {
		t.Run(name, func(t *testing.T) {
			s := fixed()
			vary(&s)
			p, err := Compile(s)
			require.NoError(t, err)
			golden(t, name, p)
		})
	}
}

func golden(t *testing.T, name string, p *plan.Plan) {
	t.Helper()
	got := trimmed(p)
	file := filepath.Join("testdata", name+".plan")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "run go test -update and read the difference")
}

// The plan of what calls share, and what can begin in it.
func TestPreparedRoot(t *testing.T) {
	s := fixed()
	r := Root{Identity: s.Identity, Image: s.Image}
	r.AddTarget("/data", false)
	r.AddTarget("/deep/er/one file", true)
	r.AddTarget("/tmp/x", false)
	p, err := CompileRoot(r)
	require.NoError(t, err)
	golden(t, "root", p)
	data, err := p.Encode()
	require.NoError(t, err)
	_, err = plan.Decode(data)
	require.NoError(t, err)

	s.Prepared = true
	_, err = Compile(s)
	require.NoError(t, err, "control")
	s.Mounts = []Mount{{Source: "/srv", Target: "/srv"}}
	_, err = Compile(s)
	require.Error(t, err, "the host's paths are not there")
	s.Mounts, s.Kernel.NewMountAPI = nil, false
	_, err = Compile(s)
	require.Error(t, err)
}

// trimmed is a plan as text without its columns' padding.
func trimmed(p *plan.Plan) string {
	return regexp.MustCompile(` +(#|\n)`).ReplaceAllString(p.String(), " $1")
}

// The same specification gives the same bytes, and they decode.
func TestCompileIsAFunction(t *testing.T) {
	for name, vary := range variants() {
		var encoded [2]string
		for i := range encoded {
			s := fixed()
			vary(&s)
			p, err := Compile(s)
			require.NoError(t, err)
			data, err := p.Encode()
			require.NoError(t, err)
			_, err = plan.Decode(data)
			require.NoError(t, err, name)
			encoded[i] = string(data)
		}
		assert.Equal(t, encoded[0], encoded[1], name)
	}
}

// The order in which the layers close is what makes them hold.
func TestOrder(t *testing.T) {
	for name, vary := range variants() {
		s := fixed()
		vary(&s)
		p, err := Compile(s)
		require.NoError(t, err)
		lines := strings.Split(p.String(), "\n")
		at := func(call plan.Call, words ...string) (first, last int) {
			first, last = -1, -1
			for i, step := range p.Steps() {
				if step.Op != plan.OpCall || step.Call != call {
					continue
				}
				ok := true
				for _, w := range words {
					ok = ok && strings.Contains(lines[i], w)
				}
				if ok {
					if first < 0 {
						first = i
					}
					last = i
				}
			}
			return first, last
		}
		_, uid := at(plan.Setresuid)
		death, _ := at(plan.Prctl, "PR_SET_PDEATHSIG")
		assert.Greater(t, death, uid, "%s: a change of ids clears the parent-death signal", name)
		private, _ := at(plan.Mount, "MS_PRIVATE")
		fs, _ := at(plan.Fsmount)
		if !s.Kernel.NewMountAPI {
			fs, _ = at(plan.Mount, "tmpfs")
		}
		assert.True(t, private >= 0 && private < fs, "%s: no propagation before the first mount", name)
		pivot, _ := at(plan.PivotRoot)
		_, drop := at(plan.Prctl, "PR_CAPBSET_DROP")
		capset, _ := at(plan.Capset)
		nnp, _ := at(plan.Prctl, "PR_SET_NO_NEW_PRIVS")
		restrict, _ := at(plan.LandlockRestrictSelf)
		seccomp, _ := at(plan.Seccomp)
		assert.True(t, pivot < drop && drop < capset && capset < nnp && nnp < seccomp, "%s: %d %d %d %d %d", name, pivot, drop, capset, nnp, seccomp)
		if last := p.Steps()[len(p.Steps())-1]; s.Armed {
			wait, _ := at(plan.Recvmsg)
			assert.True(t, seccomp < wait && last.Guarantee == "", "%s: the filter is there before the call is waited for", name)
			continue
		}
		assert.Equal(t, len(p.Steps())-1, seccomp, "%s: the filter is last", name)
		if s.Kernel.Landlock > 0 {
			assert.True(t, nnp < restrict && restrict < seccomp, name)
		} else {
			assert.Equal(t, -1, restrict, name)
		}
	}
}

// Every step that keeps a guarantee ends the call when it fails; the few that may fail serve none that is lost with them.
// "the caller lives" and "it is a prepared one" have no other way to succeed than their errno.
func TestToleratedSteps(t *testing.T) {
	var got []string
	for _, vary := range variants() {
		s := fixed()
		vary(&s)
		p, err := Compile(s)
		require.NoError(t, err)
		for _, step := range p.Steps() {
			if step.Errno != 0 {
				got = append(got, step.Name)
			}
		}
	}
	for _, name := range got {
		assert.Contains(t, []string{
			"out-of-memory killer's choice", "default nice", "default scheduler", "default I/O priority", "empty session keyring", "the caller lives", "it is a prepared one: nothing can be made in it",
		}, name)
	}
	assert.NotEmpty(t, got)
}
