// Package doctor turns what a backend says of its guarantees into findings that a person or a script can act on: one
// shape for `toolcell doctor`, `toolcell check` and every program that embeds a backend.
//
// The package judges nothing on its own. It probes no kernel and trusts the [sandbox.Report]; a guarantee that the
// report does not mention is absent.
package doctor

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Status is the verdict of one check.
type Status string

// The verdicts.
const (
	// OK: it holds.
	OK Status = "ok"
	// Warn: it does not hold, and calls run all the same: it is a second lock, or the operator waived it. Or it holds
	// at the price of refusing some calls, which can be mended.
	Warn Status = "warn"
	// Fail: calls are refused because of it.
	Fail Status = "fail"
)

// Check is one finding.
type Check struct {
	// Name is what was checked: a guarantee's name, or a step like "backend".
	Name string
	// Status is the verdict.
	Status Status
	// Guarantee is the promise concerned, or "".
	Guarantee sandbox.Guarantee
	// Mechanism is what keeps the promise, or "".
	Mechanism string
	// Detail is what was found, in one line; "" when there is nothing to add.
	Detail string
	// Remedy is what to do about it; "" when nothing is known or needed.
	Remedy string
	// Elapsed is how long the check took; nil when it was not measured on its own.
	Elapsed *time.Duration
}

// MarshalJSON writes name, status, guarantee, mechanism, detail, remedy and elapsed_ms, the last null when not measured.
func (c Check) MarshalJSON() ([]byte, error) {
	j := struct {
		Name      string            `json:"name"`
		Status    Status            `json:"status"`
		Guarantee sandbox.Guarantee `json:"guarantee"`
		Mechanism string            `json:"mechanism"`
		Detail    string            `json:"detail"`
		Remedy    string            `json:"remedy"`
		ElapsedMS *float64          `json:"elapsed_ms"`
	}{c.Name, c.Status, c.Guarantee, c.Mechanism, c.Detail, c.Remedy, nil}
	if c.Elapsed != nil {
		ms := float64(c.Elapsed.Microseconds()) / 1000
		j.ElapsedMS = &ms
	}
	return json.Marshal(j)
}

// Required returns the guarantees without which a backend of that name refuses p: all of them but the second lock
// ipc.no-host-sockets, fs.noexec-scratch where p gives it up, and, for everything but the native backend,
// kernel.landlock and, where p names a network, net.none; and what p requires beyond that.
func Required(backend string, p sandbox.ContainerProfile) []sandbox.Guarantee {
	engine := backend != "native"
	network := p.WithDefaults().Network != sandbox.NetworkNone
	out := slices.DeleteFunc(sandbox.Guarantees(), func(g sandbox.Guarantee) bool {
		return g == sandbox.IPCNoHostSockets || g == sandbox.FSNoexecScratch && p.ScratchExec ||
			engine && (g == sandbox.KernelLandlock || g == sandbox.NetNone && network)
	})
	for _, g := range p.Require {
		if !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// FromReport returns one check a guarantee, in the order of [sandbox.Guarantees]. An absent guarantee is a Fail when it
// is in required and not waived, and a Warn otherwise.
func FromReport(r sandbox.Report, required []sandbox.Guarantee) []Check {
	var out []Check
	for _, g := range sandbox.Guarantees() {
		e := r.Get(g)
		c := Check{Name: string(g), Guarantee: g, Status: OK, Mechanism: e.Mechanism, Detail: e.Reason, Remedy: e.Fix}
		switch {
		case e.Enforced && e.Fix != "":
			c.Status = Warn
		case e.Enforced:
		case e.Waived:
			c.Status = Warn
			c.Detail = join("waived by the operator", e.Reason)
		case slices.Contains(required, g):
			c.Status = Fail
		default:
			c.Status = Warn
		}
		out = append(out, c)
	}
	return out
}

// FromError returns a Fail about err, or an OK when err is nil.
func FromError(name string, err error) Check {
	if err == nil {
		return Check{Name: name, Status: OK}
	}
	c := Check{Name: name, Status: Fail, Detail: err.Error()}
	var e *sandbox.Error
	if errors.As(err, &e) {
		c.Guarantee, c.Remedy = e.Guarantee, e.Fix
		c.Detail = (&sandbox.Error{Op: e.Op, Guarantee: e.Guarantee, Cause: e.Cause}).Error()
	}
	return c
}

// Worst returns the gravest status among checks, OK for none.
func Worst(checks []Check) Status {
	worst := OK
	for _, c := range checks {
		if c.Status == Fail {
			return Fail
		}
		if c.Status == Warn {
			worst = Warn
		}
	}
	return worst
}

// ExitCode is 1 when a check failed, with strict also when one warns, and 0 otherwise.
func ExitCode(checks []Check, strict bool) int {
	w := Worst(checks)
	if w == Fail || strict && w == Warn {
		return 1
	}
	return 0
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}
