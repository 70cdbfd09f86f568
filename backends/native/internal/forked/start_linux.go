package forked

// execArgs is what the program's process reads; start_*.s knows its layout.
type execArgs struct {
	// paths, argv and env are addresses of zero-terminated arrays of addresses.
	paths, argv, env uintptr
	// mask is the program's signal mask: nothing is blocked.
	mask uint64
	// errno is the negative errno of execve(2), written by the program's process when every path failed.
	errno int64
}

// vforkExec makes a process that shares the caller's memory (CLONE_VM|CLONE_VFORK, vfork(2)), unblocks all signals in
// it and tries to execute each path in turn. It returns when the new program runs or every path has failed: the new
// pid, or a negative errno when there is no process. It is assembly because the new process runs on the caller's stack
// while the caller sleeps: it must not store there, and compiled Go gives no such promise.
//
//go:noescape
func vforkExec(args *execArgs) uintptr
