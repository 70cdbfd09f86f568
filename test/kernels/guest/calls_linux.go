package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/test/kernels/report"
)

// call is one call with its check: nil when all was right.
type call struct {
	name string
	do   func() error
}

// calls are what every caller has to get, in this order; the last looks for what the others left.
func calls() []call {
	before, err := look()
	return []call{
		{"a plain call", plain},
		{"out of memory", outOfMemory},
		{"a fork bomb", forkBomb},
		{"CPU time", cpuTime},
		{"the deadline", deadline},
		{"orphans", orphans},
		{"a writable mount", writableMount},
		{"forbidden mounts", forbiddenMounts},
		{"no network", noNetwork},
		{"the caller killed", callerKilled},
		{"50 in parallel", inParallel},
		{"born in its cgroup", bornInCgroup},
		{"nothing left", func() error { return errors.Join(err, nothingLeft(before)) }},
	}
}

// refusals are what a caller has to get where a guarantee is missing.
func refusals() []call {
	return []call{{"refused with the fix", refused}}
}

func makeCalls(all []call) []report.Call {
	var out []report.Call
	for _, c := range all {
		r := report.Call{Name: c.name}
		start := time.Now()
		if err := c.do(); err != nil {
			r.Error = err.Error()
		}
		r.Seconds = time.Since(start).Seconds()
		out = append(out, r)
	}
	return out
}

// reply is what `toolcell run --json` prints.
type reply struct {
	Status   string
	ExitCode *int `json:"exit_code"`
	Stdout   string
	Stderr   string
	Hints    []string
	Error    *struct{ Kind, Message, Guarantee, Cause, Fix string }
}

// toolcell runs `toolcell run --json` and decodes what it printed.
func toolcell(args ...string) (reply, error) {
	out, err := exec.Command(program("toolcell"), append([]string{"run", "--json"}, args...)...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal(out, &r); err != nil {
		return reply{}, fmt.Errorf("toolcell printed %q: %w", out, err)
	}
	return r, nil
}

// program is a program beside this one.
func program(name string) string {
	self, err := os.Executable()
	if err != nil {
		return filepath.Join(dir, name)
	}
	return filepath.Join(filepath.Dir(self), name)
}

// want makes a call and wants a status and, unless it is "", this output.
func want(status, stdout string, args ...string) error {
	r, err := toolcell(args...)
	if err != nil {
		return err
	}
	return r.is(status, stdout)
}

func (r reply) is(status, stdout string) error {
	if r.Error != nil {
		return fmt.Errorf("refused: %s", r.Error.Message)
	}
	if r.Status != status || stdout != "" && r.Stdout != stdout {
		return fmt.Errorf("status %q, stdout %q, stderr %q, hints %q; want %q, %q", r.Status, r.Stdout, r.Stderr, r.Hints, status, stdout)
	}
	return nil
}

func plain() error { return want("exited", "42\n", "host", "python3", "-c", "print(6 * 7)") }

// bornInCgroup looks for what is logged when a call's first process is born in its cgroup; one that has to join it takes long
// after a pause. On v1 there is nothing to be born in.
func bornInCgroup() error {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err != nil {
		return nil
	}
	cmd := exec.Command(program("toolcell"), "run", "host", "true")
	cmd.Env = append(os.Environ(), "TOOLCELL_LOG=debug")
	out, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(out), `msg="calls are born in their cgroups"`) {
		err = fmt.Errorf("the log does not say so: %s", strings.TrimSpace(string(out)))
	}
	return err
}

// outOfMemory has a shell that would go on after its child's death.
func outOfMemory() error {
	r, err := toolcell("--memory", "64m", "host", "sh", "-c", `python3 -c "bytearray(1 << 30)"; echo survived`)
	if err != nil {
		return err
	}
	if r.Stdout != "" {
		return fmt.Errorf("the tree did not die as a whole: stdout %q", r.Stdout)
	}
	return r.is("oom", "")
}

// The fork bomb counts what it gets: all but the processes that are there already.
const bomb = `
import errno, os, signal
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            signal.pause()
        n += 1
except OSError as e:
    print(n, errno.errorcode[e.errno])
`

func forkBomb() error {
	if err := want("exited", "23 EAGAIN\n", "--pids-limit", "24", "host", "python3", "-c", bomb); err != nil {
		return err
	}
	m := marker()
	r, err := toolcell("--pids-limit", "24", "--timeout", "3s", "host", "sh", "-c", "b() { b | b & }; b; while :; do sleep 1; done; : "+m)
	if err != nil {
		return err
	}
	if r.Error != nil {
		return fmt.Errorf("refused: %s", r.Error.Message)
	}
	return gone(m)
}

func cpuTime() error {
	return want("cpu_timeout", "", "--cpu-time", "1s", "--timeout", "120s", "host", "sh", "-c", "while :; do :; done")
}

func deadline() error { return want("timeout", "", "--timeout", "1s", "host", "sleep", "60") }

func orphans() error {
	m := marker()
	script := "for i in 1 2 3; do setsid sh -c 'while :; do sleep 1; done; : " + m + "' >/dev/null 2>&1 & done; sleep 1; echo left"
	if err := want("exited", "left\n", "host", "sh", "-c", script); err != nil {
		return err
	}
	return gone(m)
}

// refused: the error names a guarantee and a fix, in doctor as well.
func refused() error {
	r, err := toolcell("host", "true")
	switch {
	case err != nil:
		return err
	case r.Error == nil:
		return fmt.Errorf("the call ran: status %q", r.Status)
	case r.Error.Kind != "refused" && r.Error.Kind != "unavailable":
		return fmt.Errorf("kind %q", r.Error.Kind)
	case r.Error.Fix == "" || r.Error.Cause == "":
		return fmt.Errorf("no cause or no fix: %+v", *r.Error)
	}
	return nil
}

// waived runs with the limits that need cgroups waived, as only the operator's file can.
func waived() error {
	f, err := os.CreateTemp("", "config-*.yaml")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("runtime: {sandbox: {waive: [limit.processes, limit.memory, limit.cpu]}}\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return want("exited", "42\n", "--config", f.Name(), "host", "python3", "-c", "print(6 * 7)")
}

// marker is in the arguments of no other process.
func marker() string { return fmt.Sprintf("marker-%d-%d", os.Getpid(), time.Now().UnixNano()) }

// holding returns the ids of the processes that have m among their arguments, this one's children that run toolcell aside.
func holding(m string) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(text), m) && !slices.Contains(strings.Split(string(text), "\x00"), "run") {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

// gone wants that nothing that has m among its arguments is left when a call has returned.
func gone(m string) error {
	if pids := holding(m); len(pids) > 0 {
		return fmt.Errorf("processes %v are left", pids)
	}
	return nil
}
