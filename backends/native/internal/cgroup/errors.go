package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// The names of the controllers that this package uses.
const (
	Memory  = "memory"
	PIDs    = "pids"
	CPU     = "cpu"
	CPUAcct = "cpuacct" // CPU accounting; part of the core on v2
)

// Error says why limits cannot be set and what would help.
type Error struct {
	// Op is what was being done ("open cgroups", "place spawner").
	Op string
	// Controller is the controller concerned; "" means all of them.
	Controller string
	// Cause is what went wrong, never nil.
	Cause error
	// Fix is what to do about it, in one sentence; "" when nothing is known to help.
	Fix string
}

// Error returns "op: controller: cause", without the fix, which is a field of its own.
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{e.Op, e.Controller} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(append(parts, e.Cause.Error()), ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// The things that help.
const (
	fixReadOnly = "mount the cgroup file system read-write, or waive the limits"
	fixUnseen   = "mount this process's cgroup hierarchies read-write where it can see them, or waive the limits"
	fixParent   = "name an existing cgroup directory as the parent"
	fixBusy     = "run it as a service with Delegate=yes, or name a cgroup without processes of its own as the parent"
	fixMissing  = "enable the controller (kernel command line, or cgroup.subtree_control of the parent), or waive the limit"
	fixSwap     = "boot with swapaccount=1 or turn swap off, or waive limit.memory"
)

// fixRights is for a user who may not make cgroups. Where systemd runs, one command of root's gives that user a systemd
// to ask; as a service it needs none.
func fixRights() string {
	if os.Geteuid() == 0 {
		return "run it where the cgroup file system can be written, or waive the limits"
	}
	return fmt.Sprintf("give this user a systemd of its own (as root: loginctl enable-linger %d), or run it as a service with Delegate=yes, or waive the limits", os.Geteuid())
}

// fixFor chooses by the error number, never by text.
func fixFor(err error) string {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fixReadOnly
	case errors.Is(err, fs.ErrPermission):
		return fixRights()
	case errors.Is(err, syscall.EBUSY):
		return fixBusy
	case errors.Is(err, fs.ErrNotExist):
		return fixParent
	}
	return ""
}

// explain wraps a cause that a system call returned; an *Error stays as it is.
func explain(op, controller string, cause error) error {
	var known *Error
	if errors.As(cause, &known) {
		return cause
	}
	return &Error{Op: op, Controller: controller, Cause: cause, Fix: fixFor(cause)}
}

// several is errors.Join on one line.
type several []error

func join(errs ...error) error {
	var some several
	for _, err := range errs {
		if err != nil {
			some = append(some, err)
		}
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	}
	return some
}

func (s several) Error() string {
	texts := make([]string, 0, len(s))
	for _, err := range s {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (s several) Unwrap() []error { return s }
