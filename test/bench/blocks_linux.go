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
}

// settle is how long a block's CPU time is waited for: what the kernel and the spawners clean up after the calls.
const settle = 100 * time.Millisecond

// blockRun is one block and what it has measured so far.
type blockRun struct {
	subject subject
	callers int
	times   []float64
	wall    time.Duration
	cpu     cpuClock
}

// measure runs every block once a round, in an order that each round draws anew.
func (p blockPlan) measure(runs []*blockRun) (err error) {
	if err := adopt(true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, adopt(false)) }()
	rng := rand.New(rand.NewPCG(3, uint64(len(runs))))
	for range p.rounds {
		for _, i := range rng.Perm(len(runs)) {
			if err := runs[i].add(p.length); err != nil {
				return fmt.Errorf("measure %s with %d callers: %w", runs[i].subject.name, runs[i].callers, err)
			}
		}
	}
	return nil
}

// add runs the block for that long.
func (r *blockRun) add(length time.Duration) error {
	runtime.GC()
	time.Sleep(settle)
	before, err := readCPU()
	if err != nil {
		return err
	}
	begin := time.Now()
	times, err := callers(r.subject, r.callers, begin.Add(length))
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

// callers lets n callers call until the deadline and returns how long each call took. The first error ends them all.
func callers(s subject, n int, deadline time.Time) ([]float64, error) {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		all    []float64
		failed error
	)
	stop := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed != nil || !time.Now().Before(deadline)
	}
	for range n {
		wg.Go(func() {
			for made := 0; made < leastCalls || !stop(); made++ {
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
	return block{
		Name: r.subject.name, Callers: r.callers, Calls: len(r.times), Rate: n / r.wall.Seconds(),
		P50: quantile(sorted, 0.5), P99: quantile(sorted, 0.99),
		CPU: milliseconds(r.cpu.tree) / n, Machine: milliseconds(r.cpu.busy) / n,
	}
}

// blockRatios compares toolcell with a peer at every number of callers.
func blockRatios(blocks []block) []ratio {
	var out []ratio
	for _, a := range blocks {
		for _, b := range blocks {
			if a.Name != nameCold || b.Name != nameBwrap || a.Callers != b.Callers {
				continue
			}
			at := fmt.Sprintf("cold call / bwrap, %d callers, ", a.Callers)
			out = append(out,
				ratio{Name: at + "p50", P50: a.P50 / b.P50}, ratio{Name: at + "p99", P50: a.P99 / b.P99},
				ratio{Name: at + "time a call", P50: b.Rate / a.Rate}, ratio{Name: at + "CPU time", P50: a.CPU / b.CPU})
		}
	}
	return out
}
