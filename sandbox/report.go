package sandbox

import (
	"cmp"
	"errors"
	"slices"
)

// Enforcement is what a backend says of one guarantee.
type Enforcement struct {
	// Guarantee is the promise spoken of.
	Guarantee Guarantee `json:"guarantee"`
	// Enforced is whether the backend keeps it. The zero value says no.
	Enforced bool `json:"enforced"`
	// Mechanism names what keeps it ("pid namespace", "pids.max = 128"); "" when absent.
	Mechanism string `json:"mechanism"`
	// Reason says why it is absent, or what the mechanism leaves out; "" when there is nothing to add.
	Reason string `json:"reason"`
	// Fix says what the operator can do about an absent one, or about the calls that an enforced one refuses for the Reason;
	// "" when nothing helps.
	Fix string `json:"fix,omitempty"`
	// Waived is whether the operator agreed to run without it. It never turns Enforced on.
	Waived bool `json:"waived"`
}

// Report says of each guarantee whether it is enforced, by which mechanism or why not. A backend computes it before
// it runs anything. The zero value promises nothing.
type Report []Enforcement

// Get returns the entry of g. A guarantee that the report does not mention is absent.
func (r Report) Get(g Guarantee) Enforcement {
	for _, e := range r {
		if e.Guarantee == g {
			return e
		}
	}
	return Enforcement{Guarantee: g, Reason: "the backend does not report it"}
}

// Enforced reports whether g is kept.
func (r Report) Enforced(g Guarantee) bool { return r.Get(g).Enforced }

// Waiver is the operator's written consent to run without one named guarantee. Only an operator's configuration may
// hold one; nothing of a call, an agent or the environment can.
type Waiver struct {
	// Guarantee is what may be missing.
	Guarantee Guarantee
	// Reason is the operator's own note, for the log. It may be empty.
	Reason string
}

// WithWaivers returns a copy of r in which the entries named by ws are marked as waived. An enforced guarantee stays
// enforced.
func (r Report) WithWaivers(ws []Waiver) Report {
	out := slices.Clone(r)
	for i, e := range out {
		out[i].Waived = e.Waived || slices.ContainsFunc(ws, func(w Waiver) bool { return w.Guarantee == e.Guarantee })
	}
	return out
}

// WithoutWaivers returns a copy of r in which nothing is waived.
func (r Report) WithoutWaivers() Report {
	out := slices.Clone(r)
	for i := range out {
		out[i].Waived = false
	}
	return out
}

// Check returns nil when every guarantee in required is enforced or waived. Otherwise it returns an [*Error] of kind
// [KindRefused] about the first that is neither, in the order of required.
func (r Report) Check(op string, required []Guarantee) error {
	for _, g := range required {
		e := r.Get(g)
		if e.Enforced || e.Waived {
			continue
		}
		return &Error{Kind: KindRefused, Op: op, Guarantee: g, Cause: errors.New(cmp.Or(e.Reason, "it is not enforced")), Fix: e.Fix}
	}
	return nil
}
