package sandbox

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// MaxArg is the most bytes that one argument or one environment entry may have, its terminating NUL included. It is
// Linux's MAX_ARG_STRLEN (32 pages, include/uapi/linux/binfmts.h); backends keep to it everywhere so that a program
// behaves alike on each.
const MaxArg = 128 << 10

// MaxEnvironment is the most bytes that all arguments and environment entries together may have, with a NUL and a
// pointer for each. Linux allows a quarter of the stack limit (execve(2)); this is the part of it that every backend
// can promise.
const MaxEnvironment = 1 << 20

// entrySize is what the kernel counts for a string beside its bytes (fs/exec.c, bprm_stack_limits).
const entrySize = len("\x00") + 8

// Command is one call: what to run, and what belongs to this call alone.
type Command struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH inside.
	// An empty Argv is invalid.
	Argv []string
	// Dir is the working directory inside the sandbox. "" means the profile's Workdir.
	Dir string
	// Env holds KEY=VALUE entries. They win over the profile's Env and over the sandbox's own HOME, PATH and the like.
	// The caller's own environment is never read.
	Env []string
	// Stdin is copied to the program's standard input while its output is read. nil means an empty input. As with
	// os/exec, a Read that blocks for ever outlives the call.
	Stdin io.Reader
	// Stdout and Stderr, when not nil, also receive the output as it comes, up to the output limit. Each is written
	// from one goroutine. A Write that fails ends the copying, not the program. A Write that is slow is waited for until
	// the context ends; one that still blocks then, or when the call was killed at a limit, outlives the call.
	Stdout, Stderr io.Writer
	// Timeout is the wall-clock limit of this call. 0 means the profile's; a larger value than the profile's is
	// refused, since a call may only ask for less.
	Timeout time.Duration
	// ID names the call in results, logs and on the host (cgroup, container). "" means a random one. Letters, digits,
	// '-', '_' and '.', at most 64.
	ID string
}

// Validate returns an error of kind [KindInvalid] about the first thing in c that cannot be meant.
func (c Command) Validate() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return Invalid("command", "no program given")
	}
	total := 0
	for i, a := range c.Argv {
		if err := checkString("argument "+strconv.Itoa(i), a); err != nil {
			return err
		}
		total += len(a) + entrySize
	}
	if err := validateEnv("environment", c.Env, &total); err != nil {
		return err
	}
	if total > MaxEnvironment {
		return Invalid("command", "arguments and environment are %d bytes together, more than %d; hand large data over on stdin or in a file", total, MaxEnvironment)
	}
	if c.Dir != "" {
		if err := checkInsidePath("working directory", c.Dir); err != nil {
			return err
		}
	}
	if c.Timeout < 0 {
		return Invalid("timeout", "%s is negative", c.Timeout)
	}
	return checkID(c.ID)
}

// ValidateFor is Validate, and returns an error of kind [KindRefused] when c asks for more than the limits allow: for a
// longer Timeout than Wall, which is never 0 in a profile with its defaults.
func (c Command) ValidateFor(l Limits) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Timeout > l.Wall {
		return &Error{
			Kind: KindRefused, Op: "timeout", Guarantee: LimitWall,
			Cause: fmt.Errorf("%s is more than the profile's %s", c.Timeout, l.Wall), Fix: "a call may only ask for less",
		}
	}
	return nil
}

// validateEnv checks KEY=VALUE entries and adds their size to total.
func validateEnv(op string, env []string, total *int) error {
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return Invalid(op, "%q is not NAME=VALUE", truncate(e))
		}
		if err := checkString(op+" "+quote(name), e); err != nil {
			return err
		}
		*total += len(e) + entrySize
	}
	return nil
}

// checkName checks the name of something that an engine or the configuration knows. It may not look like an option,
// and holds nothing that a command line or a log would have to escape.
func checkName(op, name string) error {
	if len(name) > 512 {
		return Invalid(op, "%d bytes, more than 512", len(name))
	}
	if strings.HasPrefix(name, "-") {
		return Invalid(op, "%s looks like an option", quote(name))
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return Invalid(op, "%s holds the byte %#02x", quote(name), name[i])
		}
	}
	return nil
}

// checkString refuses what execve(2) cannot take in one string.
func checkString(op, s string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return Invalid(op, "NUL byte at offset %d", i)
	}
	if len(s) >= MaxArg {
		return Invalid(op, "%d bytes, and one string may have at most %d; code and data belong on stdin or in a file", len(s), MaxArg-1)
	}
	return nil
}

func checkID(id string) error {
	if len(id) > 64 {
		return Invalid("id", "%d characters, more than 64", len(id))
	}
	for _, r := range id {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
		if !ok {
			return Invalid("id", "%q holds %q; letters, digits, '-', '_' and '.' are allowed", id, r)
		}
	}
	if id == "." || id == ".." {
		return Invalid("id", "%q is no name", id)
	}
	return nil
}
