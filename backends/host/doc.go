// Package host runs programs on this machine itself, as the caller's user: under resource limits ([Limits]), or without
// even those ([Unsandboxed]). It is no sandbox. Every guarantee of its [sandbox.Report] is absent, with the reason, and
// every [sandbox.Result] names the backend "host".
//
//	caller (this package)
//	  └─ supervisor    this program again ([Main]): keeps the deadline, ends with its caller, kills what the program leaves
//	       └─ the program, which was the wrapper: it sets the limits on itself and is replaced by the program
//
// Nothing opens this backend by a name: only a call of [Open] with a mode that is spelled out, which a gateway makes where
// its operator's configuration says so.
//
// # What it does
//
// Limits are rlimits (setrlimit(2)): of CPU time, address space, open files and the size of a file, each for one process
// and not for the tree. One that cannot be set refuses the call; one above the caller's own hard limit is lowered to that.
// The environment is PATH, HOME, LANG and TMPDIR of the caller (on Windows a few more, see [Inherited]) and what the
// profile and the call name; it is used by the program alone, so a loader's variable in it (LD_PRELOAD) changes nothing
// of the supervisor or the wrapper.
//
// # What it does not protect
//
// Anything. The program reads and writes every file that the caller may, uses the network, sees and signals the caller's
// processes, the supervisor and the caller among them, and starts as many processes as it likes. The limits guard against
// exhaustion by accident.
//
// When a call ends, the supervisor kills what it finds. On Linux orphans become its own children (PR_SET_CHILD_SUBREAPER),
// so it finds every descendant, but not what the program had started by somebody else (systemd, at, a container engine),
// may not kill what has become another user's (a setuid program), and finds nothing any more when the program has killed
// it. On macOS it knows only the program's process group. On Windows there is neither a supervisor nor [Limits]: the
// program alone is killed.
//
// RLIMIT_AS counts what a program reserves and never uses: node and programs written in Go need a limit of many
// times their memory, and do not start within the default of 512 MiB.
//
// macOS does not keep RLIMIT_AS, so no memory limit is set there.
package host
