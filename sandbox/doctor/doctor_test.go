package doctor_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/doctor"
)

func full() sandbox.Report {
	var r sandbox.Report
	for _, g := range sandbox.Guarantees() {
		r = append(r, sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: "lock of " + string(g)})
	}
	return r
}

func without(r sandbox.Report, g sandbox.Guarantee, reason, fix string) sandbox.Report {
	for i := range r {
		if r[i].Guarantee == g {
			r[i] = sandbox.Enforcement{Guarantee: g, Reason: reason, Fix: fix}
		}
	}
	return r
}

func mended(r sandbox.Report, g sandbox.Guarantee) sandbox.Report {
	for i := range r {
		if r[i].Guarantee == g {
			r[i].Reason, r[i].Fix = "calls with mounts are refused", "mend it"
		}
	}
	return r
}

func find(t *testing.T, checks []doctor.Check, name string) doctor.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no check named "+name)
	return doctor.Check{}
}

func TestFromReport(t *testing.T) {
	required := doctor.Required("native", sandbox.ContainerProfile{})
	for _, tc := range []struct {
		name   string
		report sandbox.Report
		check  string
		want   doctor.Status
		exit   int
		strict int
	}{
		{"everything holds", full(), "net.none", doctor.OK, 0, 0},
		{"a required one is absent", without(full(), sandbox.NetNone, "no namespace", "enable it"), "net.none", doctor.Fail, 1, 1},
		{"a second lock is absent", without(full(), sandbox.IPCNoHostSockets, "old kernel", ""), "ipc.no-host-sockets", doctor.Warn, 0, 1},
		{
			"a waived one is absent",
			without(full(), sandbox.LimitCPU, "no cgroup", "").WithWaivers([]sandbox.Waiver{{Guarantee: sandbox.LimitCPU}}),
			"limit.cpu", doctor.Warn, 0, 1,
		},
		{"one that holds has something to mend", mended(full(), sandbox.PrivNonroot), "priv.nonroot", doctor.Warn, 0, 1},
		{"an empty report promises nothing", nil, "priv.nonroot", doctor.Fail, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checks := doctor.FromReport(tc.report, required)
			assert.Len(t, checks, len(sandbox.Guarantees()))
			assert.Equal(t, tc.want, find(t, checks, tc.check).Status)
			assert.Equal(t, tc.exit, doctor.ExitCode(checks, false))
			assert.Equal(t, tc.strict, doctor.ExitCode(checks, true))
		})
	}
}

func TestRequired(t *testing.T) {
	native := doctor.Required("native", sandbox.ContainerProfile{})
	assert.Contains(t, native, sandbox.KernelLandlock)
	assert.NotContains(t, native, sandbox.IPCNoHostSockets)
	assert.NotContains(t, doctor.Required("docker", sandbox.ContainerProfile{}), sandbox.KernelLandlock)

	granted := sandbox.ContainerProfile{Network: "tools"}
	assert.NotContains(t, doctor.Required("docker", granted), sandbox.NetNone, "an engine runs it")
	assert.Contains(t, doctor.Required("native", granted), sandbox.NetNone, "native refuses it")
	for _, none := range []string{"", sandbox.NetworkNone} {
		assert.Contains(t, doctor.Required("docker", sandbox.ContainerProfile{Network: none}), sandbox.NetNone)
	}

	more := doctor.Required("native", sandbox.ContainerProfile{Require: []sandbox.Guarantee{sandbox.IPCNoHostSockets}})
	assert.Contains(t, more, sandbox.IPCNoHostSockets)

	assert.Contains(t, native, sandbox.FSNoexecScratch)
	assert.NotContains(t, doctor.Required("native", sandbox.ContainerProfile{ScratchExec: true}), sandbox.FSNoexecScratch)
}

func TestFromError(t *testing.T) {
	assert.Equal(t, doctor.OK, doctor.FromError("backend", nil).Status)

	c := doctor.FromError("backend", &sandbox.Error{
		Kind: sandbox.KindUnavailable, Op: "open native", Guarantee: sandbox.ProcIsolated, Cause: errors.New("no namespaces"), Fix: "sysctl x=1",
	})
	assert.Equal(t, doctor.Check{
		Name: "backend", Status: doctor.Fail, Guarantee: sandbox.ProcIsolated,
		Detail: "open native: proc.isolated: no namespaces", Remedy: "sysctl x=1",
	}, c)
	assert.Equal(t, "plain", doctor.FromError("x", errors.New("plain")).Detail)
}

func TestJSON(t *testing.T) {
	d := 1500 * time.Microsecond
	b, err := json.Marshal(doctor.Check{Name: "backend", Status: doctor.OK, Elapsed: &d})
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"backend","status":"ok","guarantee":"","mechanism":"","detail":"","remedy":"","elapsed_ms":1.5}`, string(b))

	b, err = json.Marshal(doctor.Check{})
	require.NoError(t, err)
	assert.Contains(t, string(b), `"elapsed_ms":null`)
}

func TestRender(t *testing.T) {
	checks := []doctor.Check{
		{Name: "net.none", Status: doctor.OK, Mechanism: "net namespace", Remedy: "not shown when all is well"},
		{Name: "limit.memory", Status: doctor.Fail, Detail: "no controller", Remedy: "Delegate=yes"},
		{Name: "limit.cpu", Status: doctor.Fail, Detail: "no controller", Remedy: "Delegate=yes"},
	}
	var plain, colored strings.Builder
	require.NoError(t, doctor.Render(&plain, checks, false))
	assert.Equal(t, ""+
		"ok    net.none      net namespace\n"+
		"fail  limit.memory\n"+
		"                    no controller\n"+
		"                    fix: Delegate=yes\n"+
		"fail  limit.cpu\n"+
		"                    as above\n", plain.String())
	require.NoError(t, doctor.Render(&colored, checks, true))
	assert.Contains(t, colored.String(), "\x1b[31;1mfail\x1b[0m")
}

// A fix that was not shown, since all was well, is not left out as shown above.
func TestRenderShowsEveryFix(t *testing.T) {
	var b strings.Builder
	require.NoError(t, doctor.Render(&b, []doctor.Check{
		{Name: "a", Status: doctor.OK, Detail: "same", Remedy: "mend it"}, {Name: "b", Status: doctor.Fail, Detail: "same", Remedy: "mend it"},
	}, false))
	assert.Contains(t, b.String(), "fix: mend it")
}
