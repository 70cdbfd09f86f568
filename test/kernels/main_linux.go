package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/test/kernels/machine"
	"github.com/soulacy/toolcell/test/kernels/report"
)

// bootTime bounds a boot with all its cells.
const bootTime = time.Hour

func main() {
	var h harness
	var print bool
	var only string
	flag.BoolVar(&h.update, "update", false, "write the golden files instead of comparing with them")
	flag.StringVar(&only, "only", "", "only the cells whose names match this regular expression")
	flag.BoolVar(&h.suites, "suites", false, "also run the conformance and escape suites, as root and as an ordinary user")
	flag.BoolVar(&print, "table", false, "print the README's table, as the golden files make it, and boot nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := func() error { return run(ctx, only, &h) }
	if print {
		do = printTable
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(1)
	}
}

func printTable() error {
	text, err := table(testdata)
	fmt.Print(text)
	return err
}

func run(ctx context.Context, only string, h *harness) (err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if err := machine.Need(); err != nil {
		return err
	}
	unit, err := readmeUnit("README.md")
	if err != nil {
		return err
	}
	if h.cache, err = machine.OpenCache(os.Stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.cache.Close()) }()
	if h.root, err = h.cache.Root(ctx); err != nil {
		return err
	}
	if h.work, err = os.MkdirTemp("", "toolcell-kernels-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.work)) }()
	if err := build(ctx, filepath.Join(h.work, "programs"), h.suites); err != nil {
		return err
	}
	all := boots(unit)
	if h.suites {
		all = withSuites(all)
	}
	return h.boots(ctx, chosen(all, pattern))
}

// harness boots machines and judges what they tell.
type harness struct {
	cache      *machine.Cache
	root, work string
	// update writes the golden files, suites runs the suites.
	update, suites bool
	mu             sync.Mutex // guards the cache, and what is printed
}

// boots boots the machines, as many at once as there are CPUs: each keeps one busy.
func (h *harness) boots(ctx context.Context, all []boot) error {
	errs := make([]error, len(all))
	free := make(chan struct{}, runtime.NumCPU())
	var running sync.WaitGroup
	for i, b := range all {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			errs[i] = h.boot(ctx, b)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// boot makes the cells of one machine.
func (h *harness) boot(ctx context.Context, b boot) error {
	m, err := h.machine(ctx, b)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, bootTime)
	defer stop()
	start := time.Now()
	events, used, runErr := m.Run(ctx, report.Job{Cells: b.cells})
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Printf("linux %s: %d cells in %s, %s of CPU time\n", b.kernel, len(b.cells), time.Since(start).Round(time.Second), used.Round(time.Second))
	var errs []error
	for _, c := range b.cells {
		if err := h.settle(c, events); err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", c.Name, err))
		}
	}
	if runErr != nil {
		errs = append(errs, fmt.Errorf("linux %s: %w\n%s", b.kernel, runErr, tail(m.Console())))
	}
	return errors.Join(errs...)
}

// machine makes a machine with its own copy of the programs, beside which its job lies.
func (h *harness) machine(ctx context.Context, b boot) (machine.Machine, error) {
	kernel, err := h.kernel(ctx, b.kernel)
	if err != nil {
		return machine.Machine{}, err
	}
	dir := filepath.Join(h.work, b.cells[0].Name)
	programs := filepath.Join(dir, "programs")
	if err := os.CopyFS(programs, os.DirFS(filepath.Join(h.work, "programs"))); err != nil {
		return machine.Machine{}, err
	}
	return machine.Machine{Kernel: kernel, Root: h.root, Programs: programs, Dir: dir}, nil
}

// kernel takes care that nothing is made twice at once.
func (h *harness) kernel(ctx context.Context, k machine.Kernel) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cache.Kernel(ctx, k)
}

// settle judges a cell, prints its figures, and compares with its golden file or writes it.
func (h *harness) settle(c report.Cell, events []report.Event) error {
	o, err := judge(c, events)
	print(c, events)
	if err != nil {
		return err
	}
	if known, err := load(testdata, c.Name); err == nil && !h.suites {
		o.Suites = known.Suites // what they showed stands
	}
	return keep(testdata, o, h.update)
}

// print prints one line a step.
func print(c report.Cell, events []report.Event) {
	for _, e := range events {
		if e.Cell != c.Name {
			continue
		}
		what := "doctor"
		switch {
		case e.Suite != nil:
			what = fmt.Sprintf("%s: %d tests passed, %d failed, %d skipped", e.Suite.Name, e.Suite.Passed, e.Suite.Failed, e.Suite.Skipped)
		case len(e.Calls) > 0:
			what = fmt.Sprintf("%d of %d calls right", right(e.Calls), len(e.Calls))
		case e.Doctor == nil && e.Error == "":
			what = "mended as doctor said"
		case e.Error != "":
			what = "a step could not be made"
		}
		fmt.Printf("  %-14s %s, %.1f s\n", c.Name, what, e.Seconds)
	}
}

func right(calls []report.Call) (n int) {
	for _, c := range calls {
		if c.Error == "" {
			n++
		}
	}
	return n
}

// tail is the end of a console.
func tail(path string) string {
	const kept = 4000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-kept):])
}
