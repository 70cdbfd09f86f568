package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// measurement is one run of the benchmark.
type measurement struct {
	options options
	backend sandbox.Backend
	rounds  rounds
	blocks  blockPlan
	results results
}

func truth() program { return program{argv: []string{"/bin/true"}} }

func snippet() program {
	return program{argv: []string{"/usr/bin/python3", "-I", "-c", "print(2+2)"}, output: "4\n"}
}

// partOfRun is a part of the benchmark that can be left out.
type partOfRun struct {
	name    string
	measure func(m *measurement, dir string) error
}

func parts() []partOfRun {
	return []partOfRun{
		{"start", (*measurement).starts},
		{"python", (*measurement).python},
		{"heap", (*measurement).heap},
		{"callers", (*measurement).parallel},
		{"steps", (*measurement).profileSteps},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// wants reports whether a part is to be measured.
func (o options) wants(part string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), part)
}

// checkParts refuses a part that there is not.
func (o options) checkParts() error {
	for _, name := range strings.Split(o.only, ",") {
		if name != "" && !slices.Contains(partNames(), name) {
			return fmt.Errorf("-only: there is no part %q", name)
		}
	}
	return nil
}

// all measures one table after the other. Only ways of one table are compared with each other.
func (m *measurement) all(ctx context.Context) error {
	before, err := readCPU()
	if err != nil {
		return err
	}
	if err := m.guarantees(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "toolcell-bench-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, p := range parts() {
		if !m.options.wants(p.name) {
			continue
		}
		if err := p.measure(m, dir); err != nil {
			return err
		}
	}
	return m.finish(before)
}

// guarantees notes what the measured calls are protected by: a time without that says nothing.
func (m *measurement) guarantees(ctx context.Context) error {
	report, err := m.backend.Ready(ctx, sandbox.ContainerProfile{})
	if err != nil {
		return fmt.Errorf("rehearse a call: %w", err)
	}
	for _, e := range report {
		if e.Enforced {
			m.results.Enforced++
		} else {
			m.results.Absent = append(m.results.Absent, string(e.Guarantee))
		}
	}
	fmt.Printf("every call of toolcell has %d guarantees enforced; absent: %v\n", m.results.Enforced, m.results.Absent)
	return nil
}

// lacks notes a way that cannot be measured here.
func (m *measurement) lacks(name string, err error) {
	note := missing{Name: name, Cause: oneLine(err.Error())}
	if slices.Contains(m.results.Missing, note) {
		return
	}
	m.results.Missing = append(m.results.Missing, note)
	fmt.Printf("not measured: %s: %s\n", note.Name, note.Cause)
}

// oneLine keeps a peer's long complaint readable.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// optional adds a subject that works here, and otherwise says why it does not.
func (m *measurement) optional(list []subject, s subject, err error) []subject {
	if err == nil {
		_, err = s.run()
	}
	if err != nil {
		m.lacks(s.name, err)
		return list
	}
	return append(list, s)
}

// wrapped is a peer that is put before the program's command line.
func wrapped(name string, wrap func(peer string, argv []string) []string, p program) (subject, error) {
	path, err := absolute(name)
	if err != nil {
		return subject{name: name}, err
	}
	return captured(name, wrap(path, p.argv), p), nil
}

// quickWays are the ways to start true that take milliseconds.
func (m *measurement) quickWays() []subject {
	p := truth()
	list := []subject{bare(nameBare, p), captured(nameCaptured, p.argv, p), cold(m.backend, p), armed(m.backend, p)}
	cli, err := filepath.Abs(filepath.Join(m.options.bin, "toolcell"))
	if err == nil {
		list = m.optional(list, captured(nameProcess, []string{cli, "run", "host", p.argv[0]}, p), exists(cli))
	}
	s, err := wrapped(nameBwrap, bwrapArgv, p)
	list = m.optional(list, s, err)
	s, err = wrapped(nameUnshare, unshareArgv, p)
	return m.optional(list, s, err)
}

// starts measures how long it takes to run true.
func (m *measurement) starts(dir string) error {
	list := m.quickWays()
	s, err := runc(dir, truth())
	s.name = nameRunc
	list = m.optional(list, s, err)
	all, err := m.rounds.measure(list)
	if err != nil {
		return err
	}
	m.table("a cold call: /bin/true", all)
	m.ratio(coldToBare, all, nameCold, nameBare)
	m.ratio(coldToBwrap, all, nameCold, nameBwrap)
	m.ratio(armedToBare, all, nameArmed, nameBare)
	m.ratio(processToPeer, all, nameProcess, nameBwrap)
	m.ratio("cold call / bare start, output captured", all, nameCold, nameCaptured)
	m.ratio("bwrap / bare start", all, nameBwrap, nameBare)
	m.ratio("cold call / unshare", all, nameCold, nameUnshare)
	m.ratio("cold call / runc run", all, nameCold, nameRunc)
	return nil
}

// python measures a short snippet, which is what most tools are.
func (m *measurement) python(string) error {
	p := snippet()
	var list []subject
	list = m.optional(list, captured(nameCaptured, p.argv, p), exists(p.argv[0]))
	if len(list) == 0 {
		return nil
	}
	list = append(list, cold(m.backend, p))
	s, err := wrapped(nameBwrap, bwrapArgv, p)
	list = m.optional(list, s, err)
	all, err := m.rounds.measure(list)
	if err != nil {
		return err
	}
	m.table("a cold call: python3 -I -c 'print(2+2)'", all)
	m.ratio("Python: cold call / bare start", all, nameCold, nameCaptured)
	m.ratio("Python: cold call / bwrap", all, nameCold, nameBwrap)
	return nil
}

// heap measures whether a caller's memory makes its calls slower.
func (m *measurement) heap(string) error {
	if free := availableMiB(); free < 2*heapMiB {
		m.lacks("a caller with 1 GiB of heap", fmt.Errorf("%d MiB of memory are free", free))
		return nil
	}
	all, err := heapSeries(m.rounds, m.options.bin, m.options.waive)
	if err != nil {
		return err
	}
	m.table("a caller with a large heap: /bin/true", all)
	m.ratio(heapToSmall, all, nameCold+heapLarge, nameCold+heapSmall)
	m.ratio("bare start, 1 GiB heap / small heap", all, nameBare+heapLarge, nameBare+heapSmall)
	m.ratio("os/exec NEWUSER, 1 GiB heap / small heap", all, nameNewUser+heapLarge, nameNewUser+heapSmall)
	return nil
}

// parallel measures throughput and CPU time.
func (m *measurement) parallel(string) error {
	var runs []*blockRun
	quick := m.quickWays()
	for _, s := range quick {
		runs = append(runs, &blockRun{subject: s, callers: 1})
	}
	for _, n := range []int{8, 64} {
		for _, s := range quick {
			if s.name == nameCaptured || s.name == nameCold || s.name == nameBwrap {
				runs = append(runs, &blockRun{subject: s, callers: n})
			}
		}
	}
	if err := m.blocks.measure(runs); err != nil {
		return err
	}
	for _, r := range runs {
		m.results.Blocks = append(m.results.Blocks, r.block())
	}
	m.results.Ratios = append(m.results.Ratios, blockRatios(m.results.Blocks)...)
	printBlocks(os.Stdout, m.results.Blocks)
	return nil
}

func (m *measurement) table(title string, all []series) {
	t := table{Title: title}
	for _, s := range all {
		t.Rows = append(t.Rows, newRow(s))
	}
	t.print(os.Stdout)
	m.results.Tables = append(m.results.Tables, t)
}

// ratio notes how two ways of the same rounds compare, when both were measured.
func (m *measurement) ratio(name string, all []series, way, reference string) {
	a, okA := find(all, way)
	b, okB := find(all, reference)
	if okA && okB {
		r := newRatio(name, a, b)
		r.Gate = strings.HasPrefix(way, nameCold) || way == nameProcess
		m.results.Ratios = append(m.results.Ratios, r)
	}
}

// finish prints the ratios and what they mean for the goals.
func (m *measurement) finish(before cpuClock) error {
	after, err := readCPU()
	if err != nil {
		return err
	}
	m.results.Machine.LoadEnd = load()
	m.results.Machine.Steal = 100 * float64(after.stolen-before.stolen) / float64(after.total-before.total)
	m.results.Goals = judge(m.results.Ratios)
	if len(m.results.Ratios) > 0 {
		printRatios(os.Stdout, "ratios (less is better)", m.results.Ratios)
		printGoals(os.Stdout, m.results.Goals)
	}
	fmt.Printf("\nload at the end %s, %.1f %% of the CPU time stolen by the machine's host\n", m.results.Machine.LoadEnd, m.results.Machine.Steal)
	return nil
}
