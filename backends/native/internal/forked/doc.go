// Package forked is what runs between the fork of a sandbox's first process and the start of its program. A sandbox's
// init is not a Go program: starting the Go runtime costs more than everything else together. It is a forked copy of
// the spawner, or of a caller without one, that carries out a plan (package plan) on itself and then waits for the program.
//
// # The rules of the forked child
//
// After [Forker.Fork] there is one thread, in a copy of a Go process whose scheduler, collector and locks stopped at an
// arbitrary moment. So in the child
//
//   - every function is go:nosplit, go:norace and calls only such functions: no stack growth, no instrumentation;
//   - the stack is the Forker's, the Go heap need not be there at all, and nothing looks at the goroutine;
//   - nothing is allocated, no lock is taken, nothing blocks but raw system calls;
//   - no pointer is written to Go memory, so there is no write barrier; the plan's memory is a mapping of its own;
//   - all signals are blocked and all handlers are gone (CLONE_CLEAR_SIGHAND), so the runtime's never run;
//   - nothing panics: every index is bounded by the loop that makes it.
//
// The child decides nothing. A step that does not give its wanted result ends it, with a [Record] on the channel.
//
// The package imports syscall, unsafe and plan; test/arch keeps it so.
package forked

import "unsafe"

// Record is what the child reports on its channel, one message each.
type Record struct {
	// Kind is one of the Record constants.
	Kind uint32
	// Step is the failing step's index for RecordFault; it is StepStart, or above, outside the plan.
	Step uint32
	// Errno is the fault's errno; 0 when a call's result or a comparison was not the wanted one.
	Errno uint32
	// Status is the program's wait status for RecordExited.
	Status uint32
	// Survivors is 1 in a RecordExited when other processes of the sandbox were still there.
	Survivors uint32
	_         uint32
	// User and System are the CPU time of all reaped processes, in microseconds.
	User, System uint64
}

// RecordSize is the size of a Record on the channel.
const RecordSize = int(unsafe.Sizeof(Record{}))

// The kinds of record.
const (
	// RecordFault: a step failed and the program was not started. The child ends.
	RecordFault = 1
	// RecordExited: the program has ended.
	RecordExited = 2
	// RecordStarted: the program is running.
	RecordStarted = 3
	// RecordArmed: everything is done but what a program is needed for, which is waited for. A step of the plan sends it.
	RecordArmed = 4
)

// Pseudo steps, for faults outside the plan.
const (
	// StepDescriptors: bringing the descriptors to their places.
	StepDescriptors = 0xfffffff0 + iota
	// StepMap: mapping the plan.
	StepMap
	// StepFork: making the program's process.
	StepFork
	// StepStart: execve of the program.
	StepStart
)

// ExpiredExit is the exit status of a child whose [Request.Lifetime] was over, or that nobody watched any more.
const ExpiredExit = 0x7e
