package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// phaseNames name the times between the points of a call.
var phaseNames = [...]string{
	"caller: prepare the call, until the spawner has it",
	"spawner: until it forks",
	"kernel: fork into new namespaces, until init runs",
	"init: descriptors and the plan's memory",
	"init: the plan (waits for its identity in between)",
	"init: fork, until the program is executed",
	"program: until it ends",
	"init: notice it, report, end; the kernel's teardown",
	"spawner: notice it, reap, until the caller is told",
	"caller: notice it, read the usage and the output",
}

// onecall is a call that was seen whole: its points in time, and the time of each step of its plan.
type onecall struct {
	phases [len(phaseNames)]int64
	steps  []int64
}

var errIncomplete = errors.New("not all of the call was seen")

// profileSteps tells where time goes, when it is asked for and perf can be used.
func (m *measurement) profileSteps(dir string) error {
	if m.options.steps == 0 {
		return nil
	}
	const name = "where a cold call spends its time"
	perf, err := absolute("perf")
	if err != nil {
		m.lacks(name, err)
		return nil
	}
	steps, err := m.explain()
	if err != nil {
		return err
	}
	untraced, err := rounds{n: m.options.steps, warm: 3}.measure([]subject{cold(m.backend, truth())})
	if err != nil {
		return err
	}
	t, windows, spawner, err := record(perf, dir, m.options)
	if err != nil {
		m.lacks(name, err)
		return nil
	}
	p := &stepProfile{Of: len(windows), Untraced: 1000 * median(untraced[0].times)}
	calls, incomplete := seen(t, windows, spawner, len(steps))
	p.summarise(steps, calls, windows)
	p.print(os.Stdout)
	if incomplete != nil {
		m.lacks("some of the traced calls", incomplete)
	}
	m.results.Steps = p
	return nil
}

// explain asks the backend for the plan of the measured call.
func (m *measurement) explain() ([]explained, error) {
	text, err := m.backend.Explain(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: truth().argv})
	if err != nil {
		return nil, fmt.Errorf("explain a call: %w", err)
	}
	return explain(text)
}

// seen returns the calls that the trace shows whole, and why another was not, if any.
func seen(t trace, windows []window, spawner, steps int) ([]onecall, error) {
	var out []onecall
	var last error
	for i, w := range windows {
		c, err := t.call(w, spawner, steps)
		if err != nil {
			last = fmt.Errorf("call %d: %w", i, err)
			continue
		}
		out = append(out, c)
	}
	return out, last
}

// first returns the first event of a thread in the window that matches; number < 0 matches any.
func (t trace) first(tid int, w window, kind string, number int) (event, bool) {
	for _, e := range t[tid] {
		if e.at >= w.begin && e.at <= w.end && e.kind == kind && (number < 0 || e.number == number) {
			return e, true
		}
	}
	return event{}, false
}

// last is like first, from the end.
func (t trace) last(tid int, w window, kind string, number int) (event, bool) {
	for _, e := range slices.Backward(t[tid]) {
		if e.at >= w.begin && e.at <= w.end && e.kind == kind && e.number == number {
			return e, true
		}
	}
	return event{}, false
}

// call finds one call in the trace: its init, its program, and the points between its phases.
func (t trace) call(w window, spawner, steps int) (onecall, error) {
	var c onecall
	var missing error
	need := func(what string, at int64, ok bool) int64 {
		if !ok && missing == nil {
			missing = fmt.Errorf("%w: %s", errIncomplete, what)
		}
		return at
	}
	point := func(what string, tid int, kind string, number int) int64 {
		e, ok := t.first(tid, w, kind, number)
		return need(what, e.at, ok)
	}
	child, ok := t.first(spawner, w, eventFork, -1)
	need("no fork of the spawner", 0, ok)
	program, ok := t.first(child.number, w, eventFork, -1)
	need("no fork of init", 0, ok)
	told, ok := t.last(spawner, w, eventLeave, unix.SYS_SENDMSG)
	need("no reply of the spawner", 0, ok)
	begun, done, err := c.takeSteps(t[child.number], steps)
	if missing == nil {
		missing = err
	}
	points := [...]int64{
		w.begin,
		point("no request", spawner, eventLeave, unix.SYS_RECVMSG),
		point("no start of a fork", spawner, eventEnter, unix.SYS_CLONE3),
		point("no start of init", child.number, eventLeave, unix.SYS_CLONE3),
		begun, done,
		point("no execution of the program", program.number, eventExec, -1),
		point("no end of the program", program.number, eventExit, -1),
		point("no end of init", child.number, eventExit, -1),
		told.at, w.end,
	}
	for i := range c.phases {
		c.phases[i] = points[i+1] - points[i]
	}
	return c, missing
}

// takeSteps takes the time of each step from init's events. The plan begins when its descriptor is closed, which is the
// close(2) behind init's first mmap(2), since no plan has one; it ends with the lseek(2) before the next, by which the
// program is mapped, or with the fork of the program. Each step lasts from the end of the one before, so what init computes
// in between is in it.
func (c *onecall) takeSteps(events []event, steps int) (begun, done int64, err error) {
	mapped := slices.IndexFunc(events, func(e event) bool { return e.kind == eventLeave && e.number == unix.SYS_MMAP })
	if mapped < 0 || len(events) < mapped+3 || events[mapped+2].number != unix.SYS_CLOSE {
		return 0, 0, fmt.Errorf("%w: the plan begins nowhere", errIncomplete)
	}
	ends := []int64{events[mapped+2].at}
	for _, e := range events[mapped+3:] {
		if e.kind == eventFork {
			break
		}
		if e.kind == eventLeave && e.number == unix.SYS_MMAP {
			ends = ends[:len(ends)-1]
			break
		}
		if e.kind == eventLeave {
			ends = append(ends, e.at)
		}
	}
	for i := range len(ends) - 1 {
		c.steps = append(c.steps, ends[i+1]-ends[i])
	}
	begun, done = ends[0], ends[len(ends)-1]
	if len(c.steps) != steps {
		return begun, done, fmt.Errorf("%w: init made %d system calls for a plan of %d", errIncomplete, len(c.steps), steps)
	}
	return begun, done, nil
}

// summarise turns the calls into medians.
func (p *stepProfile) summarise(steps []explained, calls []onecall, windows []window) {
	p.Calls = len(calls)
	whole := make([]float64, len(windows))
	for i, w := range windows {
		whole[i] = microseconds(w.end - w.begin)
	}
	p.Traced = median(whole)
	if len(calls) == 0 {
		return
	}
	for i, name := range phaseNames {
		p.Phases = append(p.Phases, part{Name: name, Count: 1, Time: medianOf(calls, func(c onecall) int64 { return c.phases[i] })})
	}
	p.Guarantees = group(calls, steps, func(e explained) string { return e.guarantee })
	p.Verbs = group(calls, steps, func(e explained) string { return e.verb })
	p.Steps = group(calls, steps, func(e explained) string { return e.text })
}

func medianOf(calls []onecall, f func(onecall) int64) float64 {
	values := make([]float64, len(calls))
	for i, c := range calls {
		values[i] = microseconds(f(c))
	}
	return median(values)
}

// group adds the steps of one name up in each call and returns the medians, the largest first.
func group(calls []onecall, steps []explained, name func(explained) string) []part {
	members := map[string][]int{}
	for i, s := range steps {
		members[name(s)] = append(members[name(s)], i)
	}
	out := make([]part, 0, len(members))
	for n, indexes := range members {
		out = append(out, part{Name: n, Count: len(indexes), Time: medianOf(calls, func(c onecall) (sum int64) {
			for _, i := range indexes {
				sum += c.steps[i]
			}
			return sum
		})})
	}
	slices.SortFunc(out, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// shownSteps is how many single steps are printed; the JSON has all.
const shownSteps = 20

func (p *stepProfile) print(w io.Writer) {
	fmt.Fprintf(w, "\nwhere a cold call spends its time (us, medians of each line, %d of %d calls seen whole)\n", p.Calls, p.Of)
	fmt.Fprintf(w, "  a call takes %.0f us, and %.0f us while it is traced: each system call looks dearer here than it is\n", p.Untraced, p.Traced)
	for _, s := range []struct {
		title string
		parts []part
	}{
		{"phases", p.Phases}, {"the plan by guarantee", p.Guarantees}, {"the plan by system call", p.Verbs},
		{"the plan's dearest steps", p.Steps[:min(shownSteps, len(p.Steps))]},
	} {
		fmt.Fprintf(w, "  %s\n", s.title)
		for _, part := range s.parts {
			fmt.Fprintf(w, "    %8.0f  %3dx %.110s\n", part.Time, part.Count, part.Name)
		}
	}
}
