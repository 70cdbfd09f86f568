// Package report is what the harness of the kernel tests and the agent inside a machine tell each other: jobs one way,
// results the other, both as JSON.
package report

import "encoding/json"

// Job is what one boot is to do, in this order.
type Job struct {
	Cells []Cell `json:"cells"`
}

// Cell is one situation of a caller.
type Cell struct {
	// Name names the cell and its golden file.
	Name string `json:"name"`
	// User is who calls. "" means root.
	User string `json:"user,omitempty"`
	// Session says that PAM opens a session, which gives the user a systemd of its own.
	Session bool `json:"session,omitempty"`
	// Delegate says that the caller is a service with Delegate=yes.
	Delegate bool `json:"delegate,omitempty"`
	// Unit is the text of a unit file that the caller is started from instead of all that.
	Unit string `json:"unit,omitempty"`
	// Mended says that root does first what the doctor of a refused cell before printed as a fix.
	Mended bool `json:"mended,omitempty"`
	// Refused says that calls have to be refused here. Otherwise all of them have to be right.
	Refused bool `json:"refused,omitempty"`
	// Suites are test programs to run whole.
	Suites []Suite `json:"suites,omitempty"`
}

// Suite is a test program.
type Suite struct {
	// Name is the program's name on the disk, without ".test".
	Name string `json:"name"`
	// Run selects tests, as -test.run. "" means all.
	Run string `json:"run,omitempty"`
}

// Event is one step of a cell that has ended. Only the last event has Done, and nothing else.
type Event struct {
	Cell string `json:"cell,omitempty"`
	// Kernel is the release that uname(2) tells.
	Kernel string `json:"kernel,omitempty"`
	// Doctor is what `toolcell doctor --json` printed.
	Doctor json.RawMessage `json:"doctor,omitempty"`
	// Calls are the calls that were made.
	Calls []Call `json:"calls,omitempty"`
	// Suite is what became of a suite.
	Suite *SuiteResult `json:"suite,omitempty"`
	// Error is why a step could not be made; "" when it was.
	Error string `json:"error,omitempty"`
	// Seconds is how long the step took.
	Seconds float64 `json:"seconds"`
	Done    bool    `json:"done,omitempty"`
}

// Call is one call and its verdict.
type Call struct {
	Name string `json:"name"`
	// Error is what was wrong; "" when all was right.
	Error string `json:"error,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// SuiteResult counts the tests of a suite, subtests included.
type SuiteResult struct {
	Name    string `json:"name"`
	Passed  int    `json:"passed"`
	Skipped int    `json:"skipped"`
	Failed  int    `json:"failed"`
	// Skips are the names of the tests that were skipped.
	Skips []string `json:"skips,omitempty"`
	// Failures is the output of those that failed.
	Failures string `json:"failures,omitempty"`
}

// OK reports whether the suite ran and nothing failed.
func (s SuiteResult) OK() bool { return s.Failed == 0 && s.Passed > 0 }
