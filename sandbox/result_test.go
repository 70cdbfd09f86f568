package sandbox

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(b)
}

func ptr[T any](v T) *T { return &v }

// What was not measured is null, lists are empty and never null, and a program that did not exit has no exit code.
func TestResultJSONZero(t *testing.T) {
	assert.Equal(t, `{
 "id": "",
 "backend": "",
 "status": "",
 "exit_code": null,
 "signal": null,
 "stdout": "",
 "stderr": "",
 "stdout_truncated": false,
 "stderr_truncated": false,
 "stdout_bytes": 0,
 "stderr_bytes": 0,
 "duration_ms": 0,
 "cpu_ms": null,
 "max_memory_bytes": null,
 "max_processes": null,
 "artifacts": [],
 "enforcement": [],
 "hints": []
}`, jsonOf(t, Result{}))
}

func TestResultJSON(t *testing.T) {
	r := Result{
		ID: "c1", Backend: "native", Status: StatusExited, ExitCode: 0, Stdout: []byte("é\n"), Stderr: []byte{0xff, 0x00},
		StderrTruncated: true, StdoutBytes: 3, StderrBytes: 9000000000,
		Usage: Usage{
			Wall: 1234567 * time.Nanosecond, User: ptr(2 * time.Millisecond), System: ptr(500 * time.Microsecond),
			MaxMemory: ptr[int64](4096), MaxProcesses: ptr[int64](0),
		},
		Artifacts:   []Artifact{{Path: "/workspace/a b", Size: 7}},
		Enforcement: Report{{Guarantee: NetNone, Enforced: true, Mechanism: "net namespace"}, {Guarantee: LimitCPU, Reason: "no controller", Fix: "delegate", Waived: true}},
		Hints:       []string{"the network is off"},
	}
	assert.Equal(t, `{
 "id": "c1",
 "backend": "native",
 "status": "exited",
 "exit_code": 0,
 "signal": null,
 "stdout": "é\n",
 "stderr_base64": "/wA=",
 "stdout_truncated": false,
 "stderr_truncated": true,
 "stdout_bytes": 3,
 "stderr_bytes": 9000000000,
 "duration_ms": 1.234,
 "cpu_ms": 2.5,
 "max_memory_bytes": 4096,
 "max_processes": 0,
 "artifacts": [
  {
   "path": "/workspace/a b",
   "size": 7
  }
 ],
 "enforcement": [
  {
   "guarantee": "net.none",
   "enforced": true,
   "mechanism": "net namespace",
   "reason": "",
   "waived": false
  },
  {
   "guarantee": "limit.cpu",
   "enforced": false,
   "mechanism": "",
   "reason": "no controller",
   "fix": "delegate",
   "waived": true
  }
 ],
 "hints": [
  "the network is off"
 ]
}`, jsonOf(t, r))
}

// The table of the statuses: which of exit code and signal a reader finds.
func TestResultJSONStatus(t *testing.T) {
	for status, want := range map[Status][2]any{
		StatusExited:     {float64(3), nil},
		StatusSignaled:   {nil, "SIGKILL"},
		StatusFileSize:   {nil, "SIGKILL"},
		StatusTimeout:    {nil, nil},
		StatusCPUTimeout: {nil, nil},
		StatusOOM:        {nil, nil},
		StatusCanceled:   {nil, nil},
	} {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(jsonOf(t, Result{Status: status, ExitCode: 3, Signal: "SIGKILL"})), &got))
		assert.Equal(t, want, [2]any{got["exit_code"], got["signal"]}, status)
	}
}

func TestUsageCPU(t *testing.T) {
	assert.Nil(t, Usage{}.CPU())
	assert.Nil(t, Usage{User: ptr(time.Second)}.CPU())
	assert.Nil(t, Usage{System: ptr(time.Second)}.CPU())
	assert.Equal(t, 3*time.Second, *Usage{User: ptr(time.Second), System: ptr(2 * time.Second)}.CPU())
	assert.Zero(t, *Usage{User: ptr[time.Duration](0), System: ptr[time.Duration](0)}.CPU())
}
