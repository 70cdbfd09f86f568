package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// blockPlan says how blocks are measured.
type blockPlan struct {
	// rounds is how often each block comes; length is how long it takes each time.
	rounds int
	length time.Duration
	// title, progress and lost are those of [rounds].
	title    string
	progress *progress
	lost     func(name string, err error)
}

// settle is how long a block's CPU time is waited for: what the kernel and the spawners clean up after the calls.
const settle = 100 * time.Millisecond

// burst is how many calls find a sandbox standing ready in a block of several callers. It is the most that a backend keeps.
const burst = 256

// blockRun is one block and what it has measured so far.
type blockRun struct {
	subject subject
	callers int
	times   []float64
	wall    time.Duration
	cpu     cpuClock
}

// measure runs every block once a round, in an order that each round draws anew, and returns those that could be.
func (p blockPlan) measure(runs []*blockRun) ([]*blockRun, error) {
	rng := rand.New(rand.NewPCG(3, uint64(len(runs))))
	dead := map[*blockRun]bool{}
	for round := range p.rounds {
		for _, i := range rng.Perm(len(runs)) {
			r := runs[i]
			if dead[r] {
				continue
			}
			if err := p.progress.goOn(); err != nil {
				return nil, err
			}
			p.progress.show("%s: turn %d of %d: %s, %d callers", p.title, round+1, p.rounds, r.subject.name, r.callers)
			err := r.add(p.length)
			if err != nil && (!r.subject.peer || p.lost == nil) {
				return nil, fmt.Errorf("measure %s with %d callers: %w", r.subject.name, r.callers, err)
			}
			if err != nil {
				p.lost(fmt.Sprintf("%s with %d callers", r.subject.name, r.callers), err)
				dead[r] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(runs), func(r *blockRun) bool { return dead[r] }), nil
}

// ready reports whether the block's calls find something that was made before it.
func (r *blockRun) ready() bool { return r.subject.ahead != nil && r.callers > 1 }

// add runs the block for that long.
func (r *blockRun) add(length time.Duration) (err error) {
	if r.ready() {
		if err := r.subject.ahead(burst); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.subject.ahead(0)) }()
	}
	runtime.GC()
	time.Sleep(settle)
	before, err := readCPU()
	if err != nil {
		return err
	}
	begin := time.Now()
	times, err := callers(r.subject, r.callers, r.until(begin.Add(length)))
	r.wall += time.Since(begin)
	r.times = append(r.times, times...)
	if err != nil {
		return err
	}
	time.Sleep(settle)
	if err := reap(); err != nil {
		return err
	}
	after, err := readCPU()
	r.cpu.tree += after.tree - before.tree
	r.cpu.busy += after.busy - before.busy
	return err
}

// leastCalls is what each caller makes however long it takes, so that every caller is there.
const leastCalls = 2

// until returns when a caller that has made so many calls goes on: until the deadline, or as long as something stands ready.
func (r *blockRun) until(deadline time.Time) func(made int) bool {
	if r.ready() {
		return func(made int) bool { return made < max(burst/r.callers, 1) }
	}
	return func(made int) bool { return made < leastCalls || time.Now().Before(deadline) }
}

// callers lets n callers call as long as more says and returns how long each call took. The first error ends them all.
func callers(s subject, n int, more func(made int) bool) ([]float64, error) {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		all    []float64
		failed error
	)
	stopped := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed != nil
	}
	for range n {
		wg.Go(func() {
			for made := 0; more(made) && !stopped(); made++ {
				d, err := s.run()
				mu.Lock()
				all = append(all, milliseconds(d))
				if err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return all, failed
}

func (r *blockRun) block() block {
	n := float64(len(r.times))
	sorted := slices.Sorted(slices.Values(r.times))
	b := block{
		Name: r.subject.name, Callers: r.callers, Calls: len(r.times), Rate: n / r.wall.Seconds(),
		P50: quantile(sorted, 0.5), P95: quantile(sorted, 0.95), P99: quantile(sorted, 0.99),
	}
	if r.subject.ahead != nil && !r.ready() { // the pauses, in which it arms, are not the caller's
		b.Rate = n / sum(sorted) * 1000
	}
	if !r.ready() { // else the building is in no call's time
		b.CPU, b.Machine = milliseconds(r.cpu.tree)/n, milliseconds(r.cpu.busy)/n
	}
	return b
}

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}
