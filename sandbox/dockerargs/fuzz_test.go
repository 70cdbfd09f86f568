package dockerargs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// FuzzParse reads arbitrary command lines, one word a line. Whatever is accepted is no weaker than the profile, is
// valid, and says the same when it is written and read again; whatever is not accepted is a typed error in one line.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"--rm|-i|--network|none|host|true",
		"-im64m|--user=1:1|host|sh|-c|x",
		"--mount|type=bind,\"source=/a,b\",target=/c,ro|-e|A=1|host|true",
		"--tmpfs|/tmp:size=1m|--ulimit|core=0|--cpus|.5|--|host|true",
		"--network|host|host|true",
		"-v|/a:/b:ro|-w|/x|--memory|1g|--memory-swap|1g|host|true",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		inv, err := dockerargs.Parser{}.Parse(strings.Split(line, "|"))
		if err != nil {
			var e *sandbox.Error
			if err != dockerargs.ErrHelp {
				require.ErrorAs(t, err, &e)
				assert.NotContains(t, err.Error(), "\n")
			}
			return
		}
		p := inv.Profile
		require.NoError(t, p.Validate())
		assert.Contains(t, []string{"", sandbox.NetworkNone}, p.Network)
		assert.False(t, p.ScratchExec)
		assert.NotEmpty(t, inv.Command)
		again(t, inv)
	})
}

// again writes an accepted profile for an engine, reads that, and compares what an engine's line can express.
func again(t *testing.T, inv dockerargs.Invocation) {
	t.Helper()
	p := inv.Profile
	back, err := dockerargs.Parser{}.Parse(p.RunArgs(p.Image, inv.Command...)[1:])
	require.NoError(t, err)

	p.Network = sandbox.NetworkNone
	if p.PIDs == 0 {
		p.PIDs = sandbox.DefaultPIDs
	}
	if p.TmpfsMB == 0 {
		p.TmpfsMB = sandbox.DefaultTmpfsMB
	}
	p.Limits.Wall, p.Limits.OutputKB, p.Interpreters, p.Require = 0, 0, nil, nil
	for i := range p.Binds {
		p.Binds[i].Exec = true // engines have no other
	}
	assert.Equal(t, p, back.Profile)
	assert.Equal(t, inv.Command, back.Command)
}

// FuzzEnvFile reads arbitrary files of variables. What comes out can be an environment, has each name once, and holds no
// value that neither the file nor the named variable has.
func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{
		"A=1\nB=2\n", "# comment\n\n  A=from file\r\nFOO\nUNSET\n", "A=1\nA=2", "=x", "A B=1", "A\x00=1", "FOO=\nFOO", "\xff=\xfe", "A==", "\tA=1",
	} {
		f.Add(seed, "secret")
	}
	f.Fuzz(func(t *testing.T, file, value string) {
		p := dockerargs.Parser{
			LookupEnv: func(name string) (string, bool) { return value, name == "FOO" },
			ReadFile:  func(string) ([]byte, error) { return []byte(file), nil },
		}
		inv, err := p.Parse([]string{"--env-file", "vars", "host", "true"})
		if err != nil {
			var e *sandbox.Error
			require.ErrorAs(t, err, &e)
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		seen := map[string]bool{}
		for _, e := range inv.Profile.Env {
			name, v, ok := strings.Cut(e, "=")
			assert.True(t, ok && name != "" && !strings.ContainsAny(name, " \t\x00"), "%q", e)
			assert.False(t, seen[name], "%q twice", name)
			seen[name] = true
			assert.True(t, strings.Contains(file, v) || name == "FOO" && v == value, "%q", e)
		}
		require.NoError(t, sandbox.Command{Argv: inv.Command, Env: inv.Profile.Env}.Validate())
	})
}
