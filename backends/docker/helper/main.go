package helper

import (
	"os"
	"sync/atomic"
)

// InitPath is where init is inside a container, and the name that it is started by.
const InitPath = "/.toolcell-init"

// The arguments that init takes.
const (
	// ArgCall is for the one call of a container, or for one call of a session.
	ArgCall = "call"
	// ArgIdle is for a session's first process, which waits for its end.
	ArgIdle = "idle"
)

// Tasks is how many threads init has and keeps; a container's process limit has to allow for them.
const Tasks = 16

// watchdogArg is the one argument of a watchdog. What makes one is the greeting on its standard input.
const watchdogArg = "toolcell-docker-watchdog"

// called remembers that this program called Main, and so may be started again as a helper.
var called atomic.Bool

// Callable reports whether this program has called [Main].
func Callable() bool { return called.Load() }

// Main turns the process into a helper when it was started as one, and then never returns. Otherwise it returns at once,
// having done nothing. It must be called before anything else in main.
func Main() {
	called.Store(true)
	if isInit() {
		os.Exit(runInit(os.Args[1]))
	}
	if len(os.Args) == 2 && os.Args[1] == watchdogArg {
		os.Exit(runWatchdog(os.Stdin))
	}
}
