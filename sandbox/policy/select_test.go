package policy_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
)

var errNot = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "open", Cause: errors.New("not here"), Fix: "install it"}

func TestCandidates(t *testing.T) {
	for _, tc := range []struct {
		sandbox, executor string
		want              []string
	}{
		{"", "", []string{"native"}},
		{"binary: podman", "", []string{"podman"}},
		{"binary: /opt/docker", "", []string{"/opt/docker"}},
		{"binary: auto", "", []string{"native", "docker", "podman", "nerdctl"}},
		{"binary: auto, runtime: runsc", "", []string{"docker", "podman", "nerdctl"}},
		{"binary: auto", "docker_network: tools", []string{"docker", "podman", "nerdctl"}},
		{"binary: auto", "docker_user: image", []string{"docker", "podman", "nerdctl"}},
		{"binary: auto", "backend: podman, docker_network: tools", []string{"native", "docker", "podman", "nerdctl"}},
	} {
		assert.Equal(t, tc.want, policy.Candidates(operator(t, tc.sandbox, tc.executor)), "%s | %s", tc.sandbox, tc.executor)
	}
}

// auto is the first that is ready, in its own order and not in that of the answers.
func TestSelectAuto(t *testing.T) {
	c := operator(t, "binary: auto", "")
	probe := func(ok map[string]bool) []policy.Probe {
		var out []policy.Probe
		for _, b := range []string{"nerdctl", "podman", "docker", "native"} {
			p := policy.Probe{Backend: b, Err: errNot}
			if ok[b] {
				p.Err = nil
			}
			out = append(out, p)
		}
		return out
	}
	for want, ok := range map[string]map[string]bool{
		"native":  {"native": true, "docker": true},
		"docker":  {"docker": true, "podman": true, "nerdctl": true},
		"podman":  {"podman": true, "nerdctl": true},
		"nerdctl": {"nerdctl": true},
	} {
		s := policy.Select(c, probe(ok))
		require.NoError(t, s.Err())
		assert.Equal(t, want, s.Backend)
		assert.Equal(t, want, s.Tried[len(s.Tried)-1].Backend, "nothing is tried after the choice")
	}
	s := policy.Select(c, probe(nil))
	require.ErrorIs(t, s.Err(), sandbox.ErrUnavailable)
	require.ErrorIs(t, s.Err(), errNot.Cause, "the causes are kept")
	assert.Contains(t, s.Err().Error(), "no sandbox available (looked for native, docker, podman, nerdctl): native: open: not here")
	for _, path := range policy.Paths() {
		_, err := policy.New(c, s).Decide(policy.Request{Path: path})
		require.ErrorIs(t, err, sandbox.ErrUnavailable, "%s: never the host", path)
	}
}

// What auto cannot use is named with the reason, and what this program lacks is.
func TestSelectAutoReasons(t *testing.T) {
	c := operator(t, "binary: auto, runtime: runsc", "")
	s := policy.Select(c, []policy.Probe{{Backend: "native"}, {Backend: "podman"}})
	require.NoError(t, s.Err())
	assert.Equal(t, "podman", s.Backend)
	require.Len(t, s.Tried, 3)
	assert.ErrorContains(t, s.Tried[0].Err, "runtime.sandbox.runtime is runsc")
	assert.ErrorContains(t, s.Tried[1].Err, "this program has no such backend")
	assert.NoError(t, s.Tried[2].Err)

	s = policy.Select(operator(t, "binary: auto", ""), nil)
	require.ErrorIs(t, s.Err(), sandbox.ErrUnavailable)
}

// A named backend is the choice whether it is ready or not: another one never takes its place.
func TestSelectNamed(t *testing.T) {
	for _, binary := range []string{"native", "docker", "podman", "nerdctl", "/opt/docker"} {
		c := operator(t, "binary: "+binary, "")
		for _, probes := range [][]policy.Probe{nil, {{Backend: binary}}, {{Backend: binary, Err: errNot}}, {{Backend: "other"}}} {
			s := policy.Select(c, probes)
			require.NoError(t, s.Err())
			assert.Equal(t, binary, s.Backend)
			assert.Equal(t, binary, outcome(policy.New(c, s).Decide(policy.Request{Path: policy.ShellExec})))
		}
	}
	assert.Equal(t, "docker", policy.Select(parse(t, "", "darwin"), nil).Backend, "the system decides, never what is there")
	assert.Equal(t, "docker", policy.Select(parse(t, "", "windows"), nil).Backend)
	require.ErrorIs(t, policy.Selection{}.Err(), sandbox.ErrUnavailable)
	assert.Equal(t, "runtime.sandbox.binary: podman (TOOLCELL_BACKEND)", policy.Select(fromEnvironment(t), nil).From)
}

func fromEnvironment(t *testing.T) *config.Config {
	t.Helper()
	lookup := func(name string) (string, bool) { return "podman", name == "TOOLCELL_BACKEND" }
	c, err := config.Parse("", nil, config.Options{GOOS: "linux", LookupEnv: lookup})
	require.NoError(t, err)
	return c
}
