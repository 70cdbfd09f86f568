//go:build unix

package conformance

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// results: how a program ends is a Result, whatever the code or signal.
func (e *env) results(t *testing.T) {
	t.Run("every exit code", e.exitCodes)
	t.Run("signals", e.signals)
	t.Run("usage and identity", e.resultFields)
	t.Run("JSON", e.resultJSON)
}

// exitCodes runs all of them: 125 to 127 and 137 are the program's own as much as 0 is.
func (e *env) exitCodes(t *testing.T) {
	codes := []int{0, 1, 124, 125, 126, 127, 137, 255}
	if !e.Slow {
		codes = nil
		for code := range 256 {
			codes = append(codes, code)
		}
	}
	for _, code := range codes {
		res := e.run(t, e.profile(), sh("exit "+strconv.Itoa(code)))
		assert.Equal(t, sandbox.StatusExited, res.Status)
		assert.Equal(t, code, res.ExitCode)
		assert.Empty(t, res.Signal)
		assert.Zero(t, res.SignalNumber)
	}
}

// signals: a program that a signal ends has no exit code, and one that exits with 128+n has no signal.
func (e *env) signals(t *testing.T) {
	for name, number := range map[string]int{
		"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "SEGV": 11, "PIPE": 13, "ALRM": 14, "TERM": 15,
	} {
		if e.Slow && name != "KILL" && name != "TERM" && name != "SEGV" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			res := e.run(t, e.profile(), sh("kill -"+name+" $$; exit 3"))
			assert.Equal(t, sandbox.StatusSignaled, res.Status)
			assert.Equal(t, "SIG"+name, res.Signal)
			assert.Equal(t, number, res.SignalNumber)
			assert.Equal(t, -1, res.ExitCode)
		})
	}
	res := e.run(t, e.profile(), sh("sh -c 'kill -9 $$'; exit $?"))
	assert.Equal(t, sandbox.StatusExited, res.Status)
	assert.Equal(t, 137, res.ExitCode)
	assert.Empty(t, res.Signal)
}

func (e *env) resultFields(t *testing.T) {
	res := e.run(t, e.profile(), sandbox.Command{Argv: []string{"true"}, ID: "conformance-id.1"})
	assert.Equal(t, "conformance-id.1", res.ID)
	assert.Equal(t, e.b.Name(), res.Backend)
	assert.Positive(t, res.Usage.Wall)
	for g, figure := range map[sandbox.Guarantee]*int64{
		sandbox.LimitMemory: res.Usage.MaxMemory, sandbox.LimitProcesses: res.Usage.MaxProcesses,
	} {
		if figure != nil { // nil says "not measured", which is allowed; 0 is not
			assert.Positive(t, *figure, "%s", g)
		}
	}
	other := e.run(t, e.profile(), sandbox.Command{Argv: []string{"true"}})
	third := e.run(t, e.profile(), sandbox.Command{Argv: []string{"true"}})
	assert.NotEmpty(t, other.ID)
	assert.NotEqual(t, other.ID, third.ID)
}

// resultJSON checks the schema that the CLI, MCP and the daemon share, on Results of real runs.
func (e *env) resultJSON(t *testing.T) {
	t.Run("exited", func(t *testing.T) {
		j := e.asJSON(t, sh("printf out; printf err >&2; exit 4"))
		assert.ElementsMatch(t, strings.Fields("id backend status exit_code signal stdout stderr stdout_truncated "+
			"stderr_truncated stdout_bytes stderr_bytes duration_ms cpu_ms max_memory_bytes max_processes artifacts "+
			"enforcement hints"), keys(j))
		assert.Equal(t, "exited", j["status"])
		assert.EqualValues(t, 4, j["exit_code"])
		assert.Nil(t, j["signal"])
		assert.Equal(t, "out", j["stdout"])
		assert.Equal(t, "err", j["stderr"])
		assert.IsType(t, []any{}, j["artifacts"])
		assert.IsType(t, []any{}, j["hints"])
	})
	t.Run("signaled", func(t *testing.T) {
		j := e.asJSON(t, sh("kill -KILL $$"))
		assert.Nil(t, j["exit_code"])
		assert.Equal(t, "SIGKILL", j["signal"])
	})
	t.Run("not UTF-8", func(t *testing.T) {
		j := e.asJSON(t, sh(`printf '\377\376\000ok'`))
		assert.NotContains(t, j, "stdout")
		assert.Equal(t, base64.StdEncoding.EncodeToString([]byte("\xff\xfe\x00ok")), j["stdout_base64"])
	})
}

func (e *env) asJSON(t *testing.T, c sandbox.Command) map[string]any {
	t.Helper()
	b, err := json.Marshal(e.run(t, e.profile(), c))
	require.NoError(t, err)
	var j map[string]any
	require.NoError(t, json.Unmarshal(b, &j))
	return j
}

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
