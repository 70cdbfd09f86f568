package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// table makes the README's table from the golden files in dir.
func table(dir string) (string, error) {
	var b strings.Builder
	b.WriteString("| Linux | caller | calls | limits | Landlock | holds with a reservation | shown by |\n|---|---|---|---|---|---|---|\n")
	for _, t := range titles() {
		o, err := load(dir, t.cell)
		if err != nil {
			return "", err
		}
		row := []string{o.Kernel, t.words, o.verdict(), o.limits(), o.landlock(), o.reservations(), o.proof()}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String(), nil
}

func load(dir, cell string) (o outcome, err error) {
	text, err := os.ReadFile(golden(dir, cell))
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, fmt.Errorf("read %s: %w", golden(dir, cell), err)
	}
	return o, nil
}

// check returns one of doctor's checks.
func (o outcome) check(name string) check {
	for _, c := range o.Doctor {
		if c.Name == name {
			return c
		}
	}
	return check{Name: name, Status: "missing"}
}

// verdict is whether a call runs, and else the first fix that doctor has.
func (o outcome) verdict() string {
	if o.check("call").Status == "ok" {
		return "run, every guarantee enforced"
	}
	for _, c := range o.Doctor {
		if c.Status == "fail" {
			fix, _, _ := strings.Cut(c.Remedy, ";")
			return "refused, with the fix: " + strings.TrimSuffix(fix, ", or waive the limits")
		}
	}
	return "refused"
}

// limits says which version of the controllers keeps the limits.
func (o outcome) limits() string {
	c := o.check("limit.memory")
	if c.Status == "ok" && o.Kernel == ownKernel {
		return "as on the host"
	}
	_, version, _ := strings.Cut(c.Mechanism, "(")
	version, _, _ = strings.Cut(version, ")")
	return version
}

func (o outcome) landlock() string { return o.check("kernel.landlock").Mechanism }

// reservations are the guarantees that doctor says something of although they hold.
func (o outcome) reservations() string {
	var names []string
	for _, c := range o.Doctor {
		if c.Status == "ok" && c.Detail != "" {
			names = append(names, "`"+c.Name+"`")
		}
	}
	return strings.Join(names, ", ")
}

func (o outcome) proof() string {
	parts := []string{fmt.Sprintf("%d calls", len(o.Calls))}
	if len(o.Calls) == 1 {
		parts[0] = "1 call"
	}
	return strings.Join(append(parts, o.Suites...), ", ")
}
