package host

import "sync/atomic"

// The words by which this program, started again, knows what it is. They give nobody anything: who can start a program
// with them can start the one it would start.
const (
	supervisorWord = "__host-supervisor"
	programWord    = "__host-program"
)

// called is whether this program has called Main. It never changes back.
var called atomic.Bool

// Callable reports whether this program has called [Main].
func Callable() bool { return called.Load() }
