//go:build linux || darwin

package host

import "os"

// Main does not return when this process was started as a supervisor, or by one; else it does so at once. A program that
// opens the backend calls it first thing in main, or names another that does in [Config].
func Main() {
	called.Store(true)
	if len(os.Args) != 2 {
		return
	}
	switch os.Args[1] {
	case supervisorWord:
		os.Exit(supervise())
	case programWord:
		os.Exit(become())
	}
}
