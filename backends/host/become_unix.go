//go:build linux || darwin

package host

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/soulacy/toolcell/sandbox"
)

// The descriptors of a process that becomes a program, beside the program's own three.
const (
	jobFD   = 3
	faultFD = 4
)

// become reads its job and becomes the program of it, or writes why not. Its faults' end without a fault is how the
// supervisor learns that the program runs.
func become() int {
	faults := os.NewFile(faultFD, "faults")
	if err := becomeProgram(); err != nil {
		_ = json.NewEncoder(faults).Encode(newFault(err)) // nobody is left who could be told
		return 1
	}
	return 0
}

// becomeProgram returns without an error only from a job that starts nothing.
func becomeProgram() error {
	var j job
	if err := json.NewDecoder(os.NewFile(jobFD, "job")).Decode(&j); err != nil {
		return setup("read the job", err)
	}
	// What has a handler here has the default in the program, which would inherit what the caller ignores (nohup).
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if j.Try {
		return j.Limits.set()
	}
	if err := os.Chdir(string(j.Dir)); err != nil {
		return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "working directory", Cause: err}
	}
	return j.wrapper().Exec()
}

// closeOnExec keeps every descriptor but the first three from the program. The caller's other programs and libraries may
// have left some without the flag.
func closeOnExec() error {
	if err := closeRangeOnExec(); err == nil {
		return nil
	}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return errors.New("/dev/fd holds " + strconv.Quote(e.Name()))
		}
		if fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
