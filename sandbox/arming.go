package sandbox

import (
	"context"
	"strings"
)

// Armer is an optional ability of a [Backend]: sandboxes that are built ahead of their calls.
type Armer interface {
	// Arm has sandboxes for calls under p stand ready: built, confined by all that p says, empty, and waiting. A call
	// that finds one is spared the building; it is used by that one call and destroyed, as any other, and another takes
	// its place in the background. A call that finds none builds its own.
	//
	// What stands ready without being used for a minute is given up until the next call under p. Each takes resources
	// while it waits: see the backend's documentation.
	//
	// Arm returns when a.Count sandboxes stand ready. An error is the one that a call would get, or that of ctx, and
	// nothing is armed then.
	Arm(ctx context.Context, p ContainerProfile, a Arming) error
}

// Arming says what is to stand ready for calls under a profile. The zero value gives up all that stands ready for it.
type Arming struct {
	// Count is how many sandboxes are to stand ready. 0 or less gives up everything that was armed for the profile, and waits
	// until what stood ready or was just being built is gone.
	Count int
	// Once says that none takes the place of one that was used, or given up: for a profile with mounts that are one
	// call's own.
	Once bool
	// Like says what the calls have in common beside the profile: their Dir, and whether they have a Stdin. The zero value
	// is right for most. Of calls under the profile that differ from it in this, the backend learns by itself.
	//
	// With an Interpreter it also says how that is started: its Argv, and those variables in Env that an interpreter
	// reads while it starts (PYTHON*, NODE_*, LANG, LC_* and the like). A call that differs in any of it is not served
	// by it. The rest of Env, all input and the deadline are each call's own.
	Like Command
	// Interpreter, unless it is "", has Like.Argv be started ahead: it waits inside the sandbox, before it has looked at
	// its program. What an interpreter runs of itself while it starts (a sitecustomize, .pth files) it has run by then, also
	// when no call comes. What stands ready without an interpreter has no process of the program's.
	Interpreter Interpreter
	// Preload names modules that a waiting Python has imported. It is for calls that use them: a program can see that
	// they are there, and every other call pays for their end. Modules that a file beside the program hides are dropped.
	Preload []string
	// Pin leaves it to the kernel to take back what a waiting Python has allocated until then, which makes its end
	// quicker. A program sees it in gc.get_objects and gc.get_freeze_count.
	Pin bool
}

// Interpreter is a kind of interpreter that can be started ahead of its program.
type Interpreter string

// The interpreters.
const (
	// InterpreterNone starts nothing ahead.
	InterpreterNone Interpreter = ""
	// InterpreterPython is CPython, 3.8 or later.
	InterpreterPython Interpreter = "python"
	// InterpreterNode is Node.js.
	InterpreterNode Interpreter = "node"
)

// IsModuleName reports whether s can be the name of a Python module, as [Arming] takes it in Preload.
func IsModuleName(s string) bool {
	for _, part := range strings.Split(s, ".") {
		for i := range len(part) {
			c := part[i]
			if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}
