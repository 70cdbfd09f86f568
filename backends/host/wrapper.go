package host

// Wrapper is a process that becomes a program under limits: what `toolcell __exec-sandbox` is.
type Wrapper struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH of Env, where relative
	// directories do not count.
	Argv []string
	// Env is the program's whole environment. It is used when the program is started and changes nothing before.
	Env []string
	// Limits are set before. One above the process's own hard limit is lowered to that.
	Limits Rlimits
}
