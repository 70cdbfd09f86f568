//go:build linux

// Command verdict makes thirty attempts, each in a process of its own, and prints a line for each: its name, a tab, and
// "done" or "denied". Most of them a sandbox has to deny, some it has to let happen. What they aim at, such as a process and
// a file of the host, are its arguments (see target); unconfined every attempt has to be done, or its denial inside means
// nothing. What goes wrong before an attempt is neither.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// target is what the attempts aim at.
type target struct {
	// secret is a file of the host that is not mounted; victim is a process of the host with mark in its arguments.
	secret, mark string
	victim       int
	// port is a service on the host's loopback, socket an abstract one, segment a System V key of the host's.
	port    string
	socket  string
	segment int
	// readOnly and writable are declared mounts. readOnly holds a set-user-ID copy of this program.
	readOnly, writable string
}

// parse reads a target from its arguments, in the order of the struct.
func parse(args []string) (target, error) {
	if len(args) != 8 {
		return target{}, fmt.Errorf("%d arguments", len(args))
	}
	victim, err := strconv.Atoi(args[2])
	segment, err2 := strconv.Atoi(args[5])
	return target{
		secret: args[0], mark: args[1], victim: victim, port: args[3], socket: args[4], segment: segment,
		readOnly: args[6], writable: args[7],
	}, errors.Join(err, err2)
}

// attempt is one line of the table. run returns nil when it was done.
type attempt struct {
	name string
	run  func(target) error
}

func attempts() []attempt {
	return append(append(fileAttempts(), hostAttempts()...), selfAttempts()...)
}

// doneCode and deniedCode are the exit codes of one attempt; every other end of it is an error of the test's.
const doneCode, deniedCode = 0, 3

func main() {
	if len(os.Args) < 2 {
		fatal(errors.New(`usage: verdict all|"all but NAME"|NAME TARGET...`))
	}
	switch os.Args[1] {
	case "wait":
		_, _ = os.Stdin.Read(make([]byte, 1)) // its end is what is waited for
		return
	case "root":
		if os.Geteuid() != 0 {
			os.Exit(deniedCode)
		}
		return
	}
	t, err := parse(os.Args[2:])
	if err != nil {
		fatal(err)
	}
	if but, ok := strings.CutPrefix(os.Args[1], "all"); ok {
		all(strings.TrimPrefix(but, " but "))
		return
	}
	one(os.Args[1], t)
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "verdict:", err)
	os.Exit(1)
}

// all makes every attempt but one, in processes of their own.
func all(but string) {
	for _, a := range attempts() {
		if a.name == but {
			continue
		}
		cmd := exec.Command("/proc/self/exe", append([]string{a.name}, os.Args[2:]...)...)
		cmd.Stderr = os.Stderr
		err := cmd.Run()
		var ended *exec.ExitError
		switch {
		case err == nil:
			fmt.Printf("%s\tdone\n", a.name)
		case errors.As(err, &ended) && ended.ExitCode() == deniedCode:
			fmt.Printf("%s\tdenied\n", a.name)
		default:
			fmt.Printf("%s\t%v\n", a.name, err)
		}
	}
}

// one makes one attempt and exits.
func one(name string, t target) {
	for _, a := range attempts() {
		if a.name != name {
			continue
		}
		err := a.run(t)
		if b := (broken{}); errors.As(err, &b) {
			fatal(fmt.Errorf("%s: %w", name, err))
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(deniedCode)
		}
		os.Exit(doneCode)
	}
	fatal(fmt.Errorf("no attempt %q", name))
}
