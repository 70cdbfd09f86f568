//go:build linux

// Command attempt makes one attempt to get out of a sandbox, by name, and prints what came of it as one line of JSON. It
// is one static program, so that it runs alike on the host and in any image.
//
// Run on the host it does real things with the rights it is given: package escape starts it there in throw-away places and
// namespaces only, to show that the attempt works where nothing stops it.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// try makes an attempt and returns whether it succeeded and what was seen.
type try func(args []string) (bool, string)

// verdict is what an attempt prints.
type verdict struct {
	Attempt string `json:"attempt"`
	Success bool   `json:"success"`
	Detail  string `json:"detail"`
}

// attempts maps the names to their code.
func attempts() map[string]try {
	all := map[string]try{}
	for _, some := range []map[string]try{
		mountAttempts(), namespaceAttempts(), processAttempts(), procAttempts(), ipcAttempts(), kernelAttempts(), socketAttempts(),
		terminalAttempts(), entryAttempts(), fileAttempts(), readOnlyAttempts(), execAttempts(), loadAttempts(), raceAttempts(),
		hostAttempts(), setIDAttempts(),
	} {
		maps.Copy(all, some)
	}
	for name, call := range reachable() {
		all["call-"+name] = func([]string) (bool, string) { return reached(call()) }
	}
	return all
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: attempt NAME [ARG...]")
		os.Exit(2)
	}
	name, args := os.Args[1], os.Args[2:]
	if helper, ok := helpers()[name]; ok {
		helper(args)
		return
	}
	f, ok := attempts()[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "attempt: no attempt %q\n", name)
		os.Exit(2)
	}
	fmt.Println("begin", name)
	success, detail := f(args)
	if err := json.NewEncoder(os.Stdout).Encode(verdict{name, success, detail}); err != nil {
		os.Exit(2)
	}
}

// helpers are what attempts start; they print no verdict.
func helpers() map[string]func(args []string) {
	return map[string]func([]string){
		"names":     func([]string) { fmt.Println(strings.Join(names(), "\n")) },
		"ok":        func([]string) { fmt.Println("ok") },
		"hang":      func([]string) { wait() },
		"privilege": func([]string) { fmt.Println(privilege()) },
		"supervise": func(args []string) { supervise(args, false) },
		"as-init":   func(args []string) { supervise(args, true) },
		"hold":      hold,
		"swap":      swap,
	}
}

// names lists the attempts that are one system call, so that the test needs no second list.
func names() []string {
	var out []string
	for name := range reachable() {
		out = append(out, "call-"+name)
	}
	return out
}

// supervise starts another attempt as its child and waits for it. As PID 1 of a new namespace it mounts a proc of that
// namespace first, and the child finds itself as a program in a sandbox does: with a stranger as PID 1. A TERM ends it
// before its child. The child is the program that ATTEMPT_PROGRAM names, or this one again.
func supervise(args []string, init bool) {
	if init {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			fmt.Fprintln(os.Stderr, "mount proc:", err)
			os.Exit(2)
		}
	}
	signal.Reset(syscall.SIGTERM)
	c := exec.Command(cmp.Or(os.Getenv("ATTEMPT_PROGRAM"), "/proc/self/exe"), args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "supervise:", err)
		os.Exit(2)
	}
}

// wait blocks until the standard input ends.
func wait() {
	buf := make([]byte, 64)
	for {
		if _, err := os.Stdin.Read(buf); err != nil {
			return
		}
	}
}

// worked turns an error into a verdict.
func worked(err error) (bool, string) {
	if err != nil {
		return false, err.Error()
	}
	return true, "it worked"
}

// reached is the verdict of a call with senseless arguments: it succeeds when the answer shows that the kernel looked at
// the arguments, which is after the filter and after the check of privileges.
func reached(errno syscall.Errno) (bool, string) {
	switch errno {
	case syscall.EPERM, syscall.EACCES, syscall.ENOSYS:
		return false, errno.Error()
	case 0:
		return true, "it worked"
	default:
		return true, "the kernel looked at the arguments: " + errno.Error()
	}
}

// arg returns args[i], or "".
func arg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

// self starts this program again.
func self(args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", args...)
	c.Args[0] = os.Args[0]
	return c
}

// victim starts a child of the same user that waits, and returns it with the way to end it.
func victim() (*exec.Cmd, func(), error) {
	c := self("hang")
	in, err := c.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	return c, func() {
		_ = in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	}, nil
}

// onVictim makes an attempt on a child of the same user.
func onVictim(f func(pid int) error) try {
	return func([]string) (bool, string) {
		c, end, err := victim()
		if err != nil {
			return worked(err)
		}
		defer end()
		return worked(f(c.Process.Pid))
	}
}
