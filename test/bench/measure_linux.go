package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// measurement is one run of the benchmark.
type measurement struct {
	options  options
	backend  *native.Backend
	engines  engineSet
	progress *progress
	results  results

	// warm is how many calls count for nothing, blockRounds how often each block comes, blockLength how long it takes.
	warm        int
	blockRounds int
	blockLength time.Duration
	// known holds the ways of each program.
	known map[string][]subject
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
		{"imports", (*measurement).imports},
		{"node", (*measurement).node},
		{"callers", (*measurement).parallel},
		{"memory", (*measurement).memory},
		{"heap", (*measurement).heap},
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

// all measures one part after the other. Only ways of one table are compared with each other.
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

// lacks notes something that cannot be measured here.
func (m *measurement) lacks(name string, err error) { m.lacksIn("", name, err) }

// lacksIn notes a way in which a program cannot be run here. One that runs no program for the same reason is noted once.
func (m *measurement) lacksIn(program, name string, err error) {
	note := missing{Name: name, Program: program, Cause: oneLine(err.Error())}
	if !m.results.note(note) {
		return
	}
	m.progress.clear()
	fmt.Printf("not measured: %s\n", note)
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

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// tableLimit is about how long the rounds of a table may take, so that the whole takes about ten minutes.
const tableLimit = 45 * time.Second

// roundsOf plans the rounds of a table.
func (m *measurement) roundsOf(title string, divisor int) rounds {
	lost := func(name string, err error) { m.lacksIn(title, name, err) }
	return rounds{n: max(m.options.rounds/divisor, 2), warm: m.warm, limit: tableLimit, title: title, progress: m.progress, lost: lost}
}

// ways are all the ways to run a program that work here.
func (m *measurement) ways(p program, dir string) []subject {
	if list, ok := m.known[p.name]; ok {
		return list
	}
	list := m.own(p)
	add := func(s subject, err error) {
		m.progress.show("%s: trying %s", p.name, s.name)
		list = m.optional(p, list, s, err)
	}
	for _, w := range wrappers(dir) {
		add(w.subject(p, dir))
	}
	add(runc(dir, p))
	for _, w := range engineWays() {
		add(m.engines.subject(w, p))
	}
	m.known[p.name] = list
	return list
}

// own are toolcell's ways to run the program, and the bare starts.
func (m *measurement) own(p program) []subject {
	list := []subject{bare(nameBare, p), captured(nameCaptured, p.argv, p), cold(m.backend, p), armed(m.backend, p)}
	cli, err := filepath.Abs(filepath.Join(m.options.bin, "toolcell"))
	if err == nil {
		err = exists(cli)
	}
	return m.optional(p, list, captured(nameProcess, append([]string{cli, "run", "host"}, p.argv...), p), err)
}

// optional adds a subject that works here, and otherwise says why it does not.
func (m *measurement) optional(p program, list []subject, s subject, err error) []subject {
	if err == nil {
		_, err = s.run()
	}
	if err != nil {
		m.lacksIn(p.name, s.name, err)
		return list
	}
	return append(list, s)
}

// sideBySide measures a program in every way, and what each takes of the processors.
func (m *measurement) sideBySide(p program, title string, ways []subject) ([]series, []block, error) {
	all, err := m.roundsOf(p.name, p.rounds).measure(ways)
	if err != nil {
		return nil, nil, err
	}
	blocks, err := m.cpu(p, ways)
	if err != nil {
		return nil, nil, err
	}
	m.table(table{Name: p.name, Title: title}, all, blocks)
	return all, blocks, nil
}

// starts measures how long it takes to run true.
func (m *measurement) starts(dir string) (err error) {
	ahead, err := openBackend(m.options.bin, m.options.waive, native.Config{NamespacesAhead: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	ways := append(slices.Clip(m.ways(truth(), dir)), coldAhead(ahead, truth()), paced(m.backend, truth()))
	empty, err := emptyGo(dir)
	ways = m.optional(truth(), ways, empty, err)
	all, blocks, err := m.sideBySide(truth(), "/bin/true", ways)
	if err != nil {
		return err
	}
	m.ratio(coldToBare, all, nameCold, nameBare)
	m.ratio(coldToBwrap, all, nameCold, nameBwrap)
	m.ratio(armedToBare, all, nameArmed, nameBare)
	m.ratio(processToPeer, all, nameProcess, nameBwrap)
	m.ratio("cold true, over a bare start, output captured", all, nameCold, nameCaptured)
	for _, peer := range []string{nameUnshare, nameRunc, nameExec, nameDocker, namePodman} {
		m.ratio("cold true, over "+peer, all, nameCold, peer)
	}
	m.ratio("bwrap, over a bare start", all, nameBwrap, nameBare)
	m.ratio(aheadToBare, all, nameAhead, nameBare)
	m.processFloor(all)
	for _, b := range blocks {
		if compared(b.Name, 1) {
			m.results.Blocks = append(m.results.Blocks, b)
		}
	}
	ours, okOurs := findBlock(blocks, nameCold, 1)
	if theirs, ok := findBlock(blocks, nameBwrap, 1); ok && okOurs && theirs.CPU > 0 {
		m.results.Ratios = append(m.results.Ratios, ratio{Name: cpuToBwrap, P50: ours.CPU / theirs.CPU})
	}
	ours, okOurs = findBlock(blocks, namePaced, 1)
	if with, ok := findBlock(blocks, nameAhead, 1); ok && okOurs && ours.CPU > 0 {
		m.results.Ratios = append(m.results.Ratios, ratio{Name: aheadCPU, P50: with.CPU / ours.CPU})
	}
	return nil
}

// python measures a short snippet, which is what most tools are.
func (m *measurement) python(dir string) error {
	p := python()
	all, err := m.snippet(p, strings.Join(p.argv, " "), m.ways(p, dir))
	if err != nil || all == nil {
		return err
	}
	m.ratio(pythonToBare, all, nameCodeArmed, nameBare)
	m.ratio(pinnedToBare, all, namePinned, nameBare)
	m.ratio(pythonToDocker, all, nameCodeArmed, nameDocker)
	m.common("python", all)
	return nil
}

// imports measures a snippet whose start is mostly imports.
func (m *measurement) imports(string) error {
	p := imports()
	all, err := m.snippet(p, "python3, five common imports", []subject{bare(nameBare, p), cold(m.backend, p)})
	if err != nil || all == nil {
		return err
	}
	m.ratio(importsToBare, all, namePreloaded, nameBare)
	m.common("imports", all)
	return nil
}

// node measures the same in JavaScript.
func (m *measurement) node(dir string) error {
	p := node()
	all, err := m.snippet(p, strings.Join(p.argv, " "), m.ways(p, dir))
	if err != nil || all == nil {
		return err
	}
	m.ratio(nodeToBare, all, nameCodeArmed, nameBare)
	m.ratio(nodeToDocker, all, nameCodeArmed, nameDocker)
	m.common("node", all)
	return nil
}

// common are the ratios that every snippet has.
func (m *measurement) common(name string, all []series) {
	m.ratio(name+": cold, over a bare start", all, nameCold, nameBare)
	m.ratio(name+": cold, over bwrap", all, nameCold, nameBwrap)
	m.ratio(name+": run_code cold, over a bare start", all, nameCode, nameBare)
	m.ratio(name+": run_code, sandbox armed alone, over a bare start", all, nameCodeSandbox, nameBare)
	m.ratio(name+": run_code cold, over docker run", all, nameCode, nameDocker)
	m.ratio(name+": run_code cold, over docker exec", all, nameCode, nameExec)
}

// snippet measures an interpreter's program in the given ways and those of run_code, where the interpreter is installed.
func (m *measurement) snippet(p program, title string, ways []subject) (all []series, err error) {
	if err := exists(p.argv[0]); err != nil {
		m.lacks(p.name, err)
		return nil, nil
	}
	code, done := m.codeWays(p)
	defer func() { err = errors.Join(err, done()) }()
	all, _, err = m.sideBySide(p, title, append(ways, code...))
	return all, err
}

func (m *measurement) table(t table, all []series, cpu []block) {
	for _, s := range all {
		r := newRow(s)
		if b, ok := findBlock(cpu, s.name, 1); ok {
			r.CPU = b.CPU
		}
		t.Rows = append(t.Rows, r)
	}
	slices.SortStableFunc(t.Rows, func(a, b row) int { return rank(a.Name) - rank(b.Name) })
	m.progress.clear()
	t.print(os.Stdout)
	m.results.Tables = append(m.results.Tables, t)
}

// ratio notes how two ways of the same rounds compare, when both were measured.
func (m *measurement) ratio(name string, all []series, way, reference string) {
	a, okA := find(all, way)
	b, okB := find(all, reference)
	if okA && okB {
		r := newRatio(name, a, b)
		r.Gate = strings.HasPrefix(way, "toolcell")
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
	m.results.Goals = judge(&m.results)
	m.progress.clear()
	if len(m.results.Ratios) > 0 {
		printRatios(os.Stdout, "ratios", m.results.Ratios)
	}
	printGoals(os.Stdout, m.results.Goals)
	fmt.Printf("\nload at the end %s, %.1f %% of the CPU time stolen by the machine's host\n", m.results.Machine.LoadEnd, m.results.Machine.Steal)
	return nil
}
