package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// subject is one way to run a program: a call that is measured.
type subject struct {
	name string
	// run makes one call and returns how long it took, which includes nothing of the checks after it.
	run func() (time.Duration, error)
	// peer says that it is not toolcell's: when it fails, it is left out and said so.
	peer bool
	// slow says that it makes fewer calls, as many as take slowBudget.
	slow bool
	// ahead has so many calls find something standing ready, or gives up what still stands for 0. nil stands for a way
	// that has nothing of the kind, or sees to it itself in every call.
	ahead func(n int) error
}

// What a slow way may take of a table's time, how often it is called at least, and the pause after it: engines answer
// before they have cleaned up.
const (
	slowBudget = 3 * time.Second
	leastSlow  = 5
	slowPause  = 50 * time.Millisecond
)

// rounds says how much is measured.
type rounds struct {
	n, warm int
	// limit ends the rounds early on a slow machine, when there have been at least leastRounds. What slow ways take is not
	// in it. 0 is none.
	limit time.Duration
	// title and progress are for who watches. lost is told of a peer that failed; without it that is an error.
	title    string
	progress *progress
	lost     func(name string, err error)
}

// leastRounds are made however long they take.
const leastRounds = 20

// over reports whether there is no time for another round, after so much of it.
func (r rounds) over(round int, spent time.Duration) bool {
	return r.limit > 0 && round >= leastRounds && spent > r.limit
}

// measure calls every subject once a round, in an order that each round draws anew.
func (r rounds) measure(subjects []subject) ([]series, error) {
	subjects, every, err := r.warmUp(subjects)
	if err != nil {
		return nil, err
	}
	out := make([]series, len(subjects))
	for i, s := range subjects {
		out[i] = newSeries(s.name, r.n)
	}
	dead := make([]bool, len(subjects))
	rng := rand.New(rand.NewPCG(2, uint64(len(subjects))))
	begun, slow := time.Now(), time.Duration(0)
	for round := range r.n {
		if err := r.progress.goOn(); err != nil {
			return nil, err
		}
		if r.over(round, time.Since(begun)-slow) {
			break
		}
		for _, i := range rng.Perm(len(subjects)) {
			if dead[i] || round%every[i] != 0 {
				continue
			}
			r.show("%s: round %d of %d: %s", r.title, round+1, r.n, subjects[i].name)
			start := time.Now()
			d, err := once(subjects[i])
			if subjects[i].slow {
				slow += time.Since(start)
			}
			if err != nil && !r.mayLose(subjects[i], err) {
				return nil, fmt.Errorf("measure %s, round %d: %w", subjects[i].name, round, err)
			}
			dead[i] = err != nil
			if err == nil {
				out[i].times[round] = milliseconds(d)
			}
		}
	}
	alive := slices.DeleteFunc(out, func(s series) bool { return len(present(s.times)) == 0 })
	return alive, reap()
}

func (r rounds) show(format string, args ...any) {
	r.progress.show(format, args...)
}

// mayLose notes a peer that failed, and reports whether the others go on without it.
func (r rounds) mayLose(s subject, err error) bool {
	if !s.peer || r.lost == nil {
		return false
	}
	r.lost(s.name, err)
	return true
}

// once makes a call, and leaves a slow way the time to clean up.
func once(s subject) (time.Duration, error) {
	d, err := s.run()
	if s.slow {
		time.Sleep(slowPause)
	}
	return d, err
}

// warmUp makes the first calls, which count for nothing, and says in every how many rounds each subject is called.
func (r rounds) warmUp(subjects []subject) (alive []subject, every []int, err error) {
	for _, s := range subjects {
		r.show("%s: warming up %s", r.title, s.name)
		d, err := r.warmOne(s)
		switch {
		case err == nil:
			alive, every = append(alive, s), append(every, r.every(s, d))
		case !r.mayLose(s, err):
			return nil, nil, fmt.Errorf("warm up %s: %w", s.name, err)
		}
	}
	return alive, every, nil
}

// warmOne returns how long the last of the first calls took.
func (r rounds) warmOne(s subject) (last time.Duration, err error) {
	n := r.warm
	if s.slow {
		n = min(n, 1)
	}
	for range n {
		if last, err = once(s); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// every says that one round in so many calls a way whose call takes about d.
func (r rounds) every(s subject, d time.Duration) int {
	if !s.slow || d <= 0 {
		return 1
	}
	calls := max(int(slowBudget/d), leastSlow)
	return max(r.n/calls, 1)
}

func newSeries(name string, n int) series {
	s := series{name: name, times: make([]float64, n)}
	for i := range s.times {
		s.times[i] = math.NaN()
	}
	return s
}

// find returns the series of that name.
func find(all []series, name string) (series, bool) {
	for _, s := range all {
		if s.name == name {
			return s, true
		}
	}
	return series{}, false
}
