package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/test/kernels/report"
)

// outcome is what is known of a cell, and what its golden file holds.
type outcome struct {
	Cell string `json:"cell"`
	// Kernel is the release's first two numbers; the third changes with Debian's updates.
	Kernel string `json:"kernel"`
	// Doctor are doctor's checks without what differs from run to run.
	Doctor []check `json:"doctor"`
	// Calls are the names of the calls that were right.
	Calls []string `json:"calls"`
	// Suites are the names of the suites that ran whole.
	Suites []string `json:"suites,omitempty"`
}

// check is one of doctor's.
type check struct {
	Name      string `json:"name"`
	Status    string `json:"status"`
	Mechanism string `json:"mechanism,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Remedy    string `json:"remedy,omitempty"`
}

// judge makes the outcome of a cell from its events. The errors are what was wrong in it.
func judge(c report.Cell, events []report.Event) (outcome, error) {
	o := outcome{Cell: c.Name}
	var errs []error
	steps := 0
	for _, e := range events {
		if e.Cell != c.Name {
			continue
		}
		steps++
		o.Kernel = series(e.Kernel)
		if e.Error != "" {
			errs = append(errs, errors.New(e.Error))
		}
		errs = append(errs, o.add(e))
	}
	if want := stepsOf(c); steps != want {
		errs = append(errs, fmt.Errorf("%d steps of %d were made", steps, want))
	}
	return o, errors.Join(errs...)
}

// stepsOf is how many events a cell has.
func stepsOf(c report.Cell) int {
	n := 2 + len(c.Suites)
	if c.Mended {
		n++
	}
	return n
}

func (o *outcome) add(e report.Event) error {
	var errs []error
	if e.Doctor != nil {
		var err error
		o.Doctor, err = checks(e.Doctor)
		errs = append(errs, err)
	}
	for _, c := range e.Calls {
		if c.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, c.Error))
			continue
		}
		o.Calls = append(o.Calls, c.Name)
	}
	if s := e.Suite; s != nil {
		errs = append(errs, suiteError(*s))
		o.Suites = append(o.Suites, s.Name)
	}
	return errors.Join(errs...)
}

// suiteError is nil when a suite ran whole: what is skipped on a kernel that has everything is not tested.
func suiteError(s report.SuiteResult) error {
	if s.OK() && s.Skipped == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d tests passed, %d failed, skipped: %q\n%s", s.Name, s.Passed, s.Failed, s.Skips, s.Failures)
}

// checks reads what doctor printed and takes out what differs from run to run.
func checks(doctor json.RawMessage) ([]check, error) {
	var all []check
	if err := json.Unmarshal(doctor, &all); err != nil {
		return nil, fmt.Errorf("read doctor's checks: %w", err)
	}
	for i := range all {
		all[i].Detail = steady(all[i].Detail)
	}
	return all, nil
}

// passing are names that are made anew each time: of systemd's units, of our own cgroups.
var passing = regexp.MustCompile(`(run-)[a-z0-9]+|(session-)[a-z0-9]+|(toolcell-)[0-9a-f]{16}`)

func steady(text string) string { return passing.ReplaceAllString(text, "$1$2$3*") }

// series is the first two numbers of a kernel's release.
func series(release string) string {
	parts := strings.SplitN(release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// testdata is where the golden files are, seen from the top of the module.
const testdata = "test/kernels/testdata"

func golden(dir, cell string) string { return filepath.Join(dir, cell+".json") }

// keep compares an outcome with its golden file, or writes the file.
func keep(dir string, o outcome, update bool) error {
	if !update {
		return compare(dir, o)
	}
	text, err := encode(o)
	if err != nil {
		return err
	}
	return os.WriteFile(golden(dir, o.Cell), text, 0o644)
}

// compare wants the golden file of a cell to hold the outcome.
func compare(dir string, o outcome) error {
	got, err := encode(o)
	if err != nil {
		return err
	}
	want, err := os.ReadFile(golden(dir, o.Cell))
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("it differs from %s:\n%s", golden(dir, o.Cell), difference(string(want), string(got)))
}

// encode is an outcome as the golden file has it.
func encode(o outcome) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	err := e.Encode(o)
	return b.Bytes(), err
}

// difference lists the lines that only one of two texts has.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out []string
	for _, side := range []struct {
		mark       string
		one, other []string
	}{{"- ", a, b}, {"+ ", b, a}} {
		for _, line := range side.one {
			if !slices.Contains(side.other, line) {
				out = append(out, side.mark+strings.TrimSpace(line))
			}
		}
	}
	return strings.Join(out, "\n")
}

// anyKernel is the outcome without what differs between kernels and their cgroups: the machine's own are as they are.
func (o outcome) anyKernel() outcome {
	all := make([]check, len(o.Doctor))
	for i, c := range o.Doctor {
		all[i] = check{Name: c.Name, Status: c.Status, Remedy: c.Remedy}
	}
	o.Kernel, o.Doctor = ownKernel, all
	return o
}

// ownKernel stands for whatever kernel the harness runs on.
const ownKernel = "own"
