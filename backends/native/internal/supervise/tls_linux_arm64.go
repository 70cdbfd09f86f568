package supervise

// threadStorage is not used here: the current goroutine is in a register of its own, whoever calls.
func threadStorage() (uintptr, bool) { return 0, true }
