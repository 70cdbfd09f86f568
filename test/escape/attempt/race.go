//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// swap exchanges args[0]/sub and args[0]/link until the standard input ends, and says when it has begun.
func swap(args []string) {
	stop := make(chan struct{})
	go func() { wait(); close(stop) }()
	a, b := filepath.Join(arg(args, 0), "sub"), filepath.Join(arg(args, 0), "link")
	fmt.Println("holding")
	for {
		select {
		case <-stop:
			return
		default:
		}
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			fmt.Println("exchange:", err)
			return
		}
		for range 500 { // long enough that either state is met
			_ = os.Getpid()
		}
	}
}

// raceAttempts go through a path that somebody else changes meanwhile.
func raceAttempts() map[string]try {
	return map[string]try{
		// race-write makes files below args[0]/sub; the proof is a file where the link leads, which the test looks for.
		"race-write": func(args []string) (bool, string) {
			made := 0
			for i := range 3000 {
				p := filepath.Join(arg(args, 0), "sub", fmt.Sprintf("escaped-%d", i))
				if os.WriteFile(p, nil, 0o600) == nil {
					made++
				}
			}
			return false, fmt.Sprintf("made %d files", made)
		},
		// race-read looks for the secret args[1] in args[0]/sub/secret.
		"race-read": func(args []string) (bool, string) {
			for range 20000 {
				b, err := os.ReadFile(filepath.Join(arg(args, 0), "sub", "secret"))
				if err == nil && strings.Contains(string(b), arg(args, 1)) {
					return true, "read it"
				}
			}
			return false, "never read it"
		},
	}
}

// hostAttempts use what the host offers to whoever reaches it.
func hostAttempts() map[string]try {
	return map[string]try{
		"crash":        crash,
		"connect-path": func(args []string) (bool, string) { return worked(dial("unix", "")(arg(args, 0))) },
		"fork-away":    forkAway,
	}
}

// crash has a child die with a core dump; the child has args[0] among its arguments. The proof is what the host's handler
// leaves at args[1].
func crash(args []string) (bool, string) {
	if os.Getenv("ATTEMPT_CRASH") != "" {
		die()
	}
	limit := coreLimit()
	c := self("crash", arg(args, 0))
	c.Env = []string{"ATTEMPT_CRASH=1"}
	err := c.Run()
	ok, detail := appears(arg(args, 1))
	return ok, fmt.Sprintf("%s (raising the limit: %v, the child: %v)", detail, limit, err)
}

// die ends this process by a signal that dumps core, in spite of the Go runtime's handler.
func die() {
	resetSignal(syscall.SIGSEGV)
	_ = unix.Kill(os.Getpid(), unix.SIGSEGV)
	time.Sleep(time.Second)
}

// forkAway leaves a process in a session of its own with args[0] among its arguments, and does not wait for it. The proof
// is that process on the host, after this one has ended.
func forkAway(args []string) (bool, string) {
	c := self("hang", arg(args, 0))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return worked(err)
	}
	c.Stdin, c.ExtraFiles = r, []*os.File{w} // an input that never ends, since its reader keeps the other end open
	err = c.Start()
	return false, fmt.Sprintf("left %s behind: %v", arg(args, 0), err)
}
