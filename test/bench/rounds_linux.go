package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// subject is one way to run a program: a call that is measured.
type subject struct {
	name string
	// run makes one call and returns how long it took, which includes nothing of the checks after it.
	run func() (time.Duration, error)
	// every says that only one round in so many calls it, since it is slow. 0 means 1.
	every int
}

// rounds says how much is measured.
type rounds struct {
	n, warm int
}

// measure calls every subject once a round, in an order that each round draws anew.
func (r rounds) measure(subjects []subject) ([]series, error) {
	out := make([]series, len(subjects))
	for i, s := range subjects {
		out[i] = series{name: s.name, times: make([]float64, r.n)}
		for range r.warm {
			if _, err := s.run(); err != nil {
				return nil, fmt.Errorf("warm up %s: %w", s.name, err)
			}
		}
	}
	rng := rand.New(rand.NewPCG(2, uint64(len(subjects))))
	for round := range r.n {
		for _, i := range rng.Perm(len(subjects)) {
			s := subjects[i]
			out[i].times[round] = math.NaN()
			if s.every > 1 && round%s.every != 0 {
				continue
			}
			d, err := s.run()
			if err != nil {
				return nil, fmt.Errorf("measure %s, round %d: %w", s.name, round, err)
			}
			out[i].times[round] = milliseconds(d)
		}
	}
	return out, nil
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
