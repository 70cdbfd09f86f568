package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/soulacy/toolcell/test/kernels/report"
)

// doctor runs doctor as the cell's caller. That it finds something missing is a result.
func (w *worker) doctor(c report.Cell) (json.RawMessage, error) {
	out, err := runAs(c, nil, dir+"/toolcell", "doctor", "--json")
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	var checks []struct{ Remedy string }
	if err := json.Unmarshal(out, &checks); err != nil {
		return nil, fmt.Errorf("doctor printed %q: %w", out, err)
	}
	if c.Refused {
		w.remedies = nil
		for _, c := range checks {
			w.remedies = append(w.remedies, c.Remedy)
		}
	}
	return out, nil
}

// rootCommand is how a remedy names a command of root's.
var rootCommand = regexp.MustCompile(`as root: ([a-z-]+(?: [a-z0-9-]+)*)`)

// mend does as root what the doctor of a refused cell printed as a fix.
func (w *worker) mend() error {
	for _, r := range w.remedies {
		m := rootCommand.FindStringSubmatch(r)
		if m == nil {
			continue
		}
		argv := strings.Fields(m[1])
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", m[1], err, out)
		}
		return await(func() bool { // it is started in the background
			_, err := os.Stat("/run/user/" + argv[len(argv)-1] + "/bus")
			return err == nil
		})
	}
	return fmt.Errorf("no remedy of %q names a command of root's", w.remedies)
}

// patience bounds every wait for something that has to come; the machine is emulated.
const patience = 5 * time.Minute

func await(come func() bool) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if come() {
			return nil
		}
	}
	return errors.New("it did not come")
}

// calls makes the calls of a cell as its caller.
func (w *worker) calls(c report.Cell) ([]report.Call, error) {
	mode := "calls"
	if c.Refused {
		mode = "refused"
	}
	var out []byte
	var err error
	if c.Unit != "" {
		out, err = runUnit(c.Unit)
	} else {
		out, err = runAs(c, nil, dir+"/guest", mode)
	}
	if err != nil {
		return nil, err
	}
	var calls []report.Call
	if err := json.Unmarshal(out, &calls); err != nil {
		return nil, fmt.Errorf("calls printed %q: %w", out, err)
	}
	return calls, nil
}

// runAs runs a program as the cell's caller, a transient service, and returns its output.
func runAs(c report.Cell, env []string, argv ...string) ([]byte, error) {
	args := []string{"--wait", "--pipe", "--collect"}
	for _, e := range env {
		args = append(args, "--setenv="+e)
	}
	if c.User != "" {
		args = append(args, "--property=User="+c.User)
	}
	if c.Session {
		args = append(args, "--property=PAMName=login")
	}
	if c.Delegate {
		args = append(args, "--property=Delegate=yes")
	}
	cmd := exec.Command("systemd-run", append(append(args, "--"), argv...)...)
	var said bytes.Buffer
	cmd.Stderr = &said // what systemd-run says of the unit's end, and the program's own words
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", argv[0], err, said.Bytes())
	}
	return out, err
}

// Where the unit file of the README goes, the program that it names, and the drop-in that collects the output.
const (
	unitName    = "gateway"
	unitPath    = "/etc/systemd/system/" + unitName + ".service"
	unitProgram = "/usr/local/bin/" + unitName
	unitOutput  = "/run/" + unitName + ".json"
)

// runUnit starts a unit file as it stands, with this program in the gateway's place, and returns what it printed.
func runUnit(text string) ([]byte, error) {
	if err := errors.Join(
		os.MkdirAll(unitPath+".d", 0o755), os.WriteFile(unitPath, []byte(text), 0o644),
		os.WriteFile(unitPath+".d/output.conf", []byte("[Service]\nStandardOutput=truncate:"+unitOutput+"\n"), 0o644),
		os.Symlink(dir+"/guest", unitProgram),
	); err != nil {
		return nil, err
	}
	for _, argv := range [][]string{{"systemctl", "daemon-reload"}, {"systemctl", "start", "--wait", unitName}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
		}
	}
	return os.ReadFile(unitOutput)
}

// suite runs a test program as the cell's caller.
func (w *worker) suite(c report.Cell, s report.Suite) (*report.SuiteResult, error) {
	env := []string{
		"TOOLCELL_TEST_REQUIRE=1", "TOOLCELL_TEST_PROGRAMS=" + dir,
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
	if c.User == "" {
		env = append(env, "HOME=/root") // systemd sets it for other users alone
	}
	argv := []string{dir + "/test2json", dir + "/" + s.Name + ".test", "-test.v=test2json", "-test.timeout=50m"}
	if s.Run != "" {
		argv = append(argv, "-test.run="+s.Run)
	}
	out, err := runAs(c, env, argv...)
	r, parseErr := count(s.Name, out)
	if parseErr != nil {
		return nil, errors.Join(parseErr, err)
	}
	if err != nil && r.Failed == 0 {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return r, nil
}

// testEvent is one line of test2json (go doc test2json).
type testEvent struct{ Action, Test, Output string }

// outputKept is how much of the output of failed tests is told.
const outputKept = 64 << 10

// count counts the verdicts in test2json's output.
func count(name string, out []byte) (*report.SuiteResult, error) {
	r := &report.SuiteResult{Name: name}
	said := map[string]*strings.Builder{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var e testEvent
		if err := d.Decode(&e); err != nil {
			return nil, err
		}
		add(r, e, said)
	}
	return r, nil
}

// add counts one event and keeps what tests say until their verdict.
func add(r *report.SuiteResult, e testEvent, said map[string]*strings.Builder) {
	if said[e.Test] == nil {
		said[e.Test] = new(strings.Builder)
	}
	switch e.Action {
	case "output":
		said[e.Test].WriteString(e.Output)
	case "fail":
		r.Failed++
		r.Failures += said[e.Test].String()
		r.Failures = r.Failures[:min(len(r.Failures), outputKept)]
	case "pass":
		if e.Test != "" {
			r.Passed++
		}
	case "skip":
		r.Skipped++
		r.Skips = append(r.Skips, e.Test)
	}
}
