package main

import (
	"regexp"
	"slices"

	"github.com/soulacy/toolcell/test/kernels/machine"
	"github.com/soulacy/toolcell/test/kernels/report"
)

// boot is a kernel and the cells that are made on it, in this order: what root mends for a user stays mended.
type boot struct {
	kernel machine.Kernel
	cells  []report.Cell
}

// title says in words who the caller of a cell is.
type title struct{ cell, words string }

// titles are the rows of the table.
func titles() []title {
	return []title{
		{"root-6.12", "root"},
		{"user-6.12", "an ordinary user in a session (systemd makes a scope for the sandboxes)"},
		{"bare-6.12", "an ordinary user without a session and without delegation"},
		{"service-6.12", "a service of an ordinary user with `Delegate=yes` (the unit file below)"},
		{"mended-6.12", "the user without a session, after the fix that `doctor` prints"},
		{"root-6.1", "root"},
		{"user-6.1", "an ordinary user in a session"},
		{"container-default", "root in a docker container"},
		{"container-switches", "root in a docker container with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`"},
		{"container-cgroups", "the same with `-v /sys/fs/cgroup:/sys/fs/cgroup --cap-add SYS_ADMIN`"},
	}
}

// boots are all cells, spread so that two machines at a time take equally long, with the suites as without. unit is the
// unit file of the README.
func boots(unit string) []boot {
	return []boot{
		{machine.Linux6_12, []report.Cell{
			{Name: "user-6.12", User: "tool", Session: true},
		}},
		{machine.Linux6_12, []report.Cell{
			{Name: "root-6.12"},
		}},
		{machine.Linux6_12, []report.Cell{
			{Name: "bare-6.12", User: "bare", Refused: true},
			{Name: "service-6.12", User: "gateway", Delegate: true, Unit: unit},
			{Name: "mended-6.12", User: "bare", Mended: true},
		}},
		{machine.Linux6_1, []report.Cell{
			{Name: "root-6.1"},
			{Name: "user-6.1", User: "tool", Session: true},
		}},
	}
}

// whole leaves out of the suites what is about an ordinary user without a cgroup, who is a cell, and about container
// engines, which the machines do not have.
const whole = "^(TestNative|TestNative[B-Z].*|TestEscape)$"

// suites are run whole by root and by an ordinary user, when they are asked for: under emulation they are slow.
func suites() []report.Suite {
	return []report.Suite{{Name: "conformance", Run: whole}, {Name: "escape", Run: whole}}
}

// withSuites has root and an ordinary user run the suites as well.
func withSuites(all []boot) []boot {
	for _, b := range all {
		for i, c := range b.cells {
			if c.Name == "root-6.12" || c.Name == "user-6.12" {
				b.cells[i].Suites = suites()
			}
		}
	}
	return all
}

// chosen leaves the cells whose names match. A cell that mends needs the one whose doctor says how.
func chosen(all []boot, only *regexp.Regexp) []boot {
	var out []boot
	for _, b := range all {
		mends := func(i int) bool {
			next := i + slices.IndexFunc(b.cells[i:], func(c report.Cell) bool { return c.Mended })
			return next > i && b.cells[i].Refused && only.MatchString(b.cells[next].Name)
		}
		var cells []report.Cell
		for i, c := range b.cells {
			if only.MatchString(c.Name) || mends(i) {
				cells = append(cells, c)
			}
		}
		if len(cells) > 0 {
			out = append(out, boot{b.kernel, cells})
		}
	}
	return out
}

// container is a cell in a container of docker's, with these options.
type container struct {
	report.Cell
	options []string
	// waived says that calls have to run with the limits waived.
	waived bool
}

// containers are the cells on this machine's own kernel.
func containers() []container {
	switches := []string{"--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"}
	return []container{
		{Cell: report.Cell{Name: "container-default", Refused: true}},
		{Cell: report.Cell{Name: "container-switches", Refused: true}, options: switches, waived: true},
		{Cell: report.Cell{Name: "container-cgroups"}, options: append(workplace(), switches...)},
	}
}

// mode is what the guest is asked to do.
func (c container) mode() string {
	if c.waived {
		return "waived"
	}
	if c.Refused {
		return "refused"
	}
	return "calls"
}

// workplace makes the host's cgroups writable, lets root map the owners of mounts, and has a file system that can be
// mapped: overlayfs cannot.
func workplace() []string {
	return []string{"-v", "/sys/fs/cgroup:/sys/fs/cgroup", "--cap-add", "SYS_ADMIN", "--tmpfs", "/work", "-e", "TMPDIR=/work"}
}
