package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// series holds one way's times in milliseconds, one a round; NaN where the round left it out.
type series struct {
	name  string
	times []float64
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// present returns the values that there are, sorted.
func present(values []float64) []float64 {
	out := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// quantile returns the q-quantile of sorted values, interpolated between neighbours; NaN of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	part := at - float64(low)
	return sorted[low]*(1-part) + sorted[low+1]*part
}

func median(values []float64) float64 { return quantile(present(values), 0.5) }

// So many calls have a 95th and a 99th percentile: with fewer these are the slowest call, or one that there is not.
const (
	callsOfP95 = 20
	callsOfP99 = 100
)

// newRow sums a series up.
func newRow(s series) row {
	sorted := present(s.times)
	r := row{Name: s.name, Calls: len(sorted), Min: quantile(sorted, 0), P10: quantile(sorted, 0.1), P50: quantile(sorted, 0.5)}
	if len(sorted) >= callsOfP95 {
		r.P95 = quantile(sorted, 0.95)
	}
	if len(sorted) >= callsOfP99 {
		r.P99 = quantile(sorted, 0.99)
	}
	return r
}

// newRatio compares two series of the same rounds; rounds that lack one of them count for neither.
func newRatio(name string, s, ref series) ratio {
	a, b := both(s.times, ref.times)
	r := ratio{Name: name, P50: median(a) / median(b), P10: quantile(present(a), 0.1) / quantile(present(b), 0.1)}
	each := make([]float64, len(a))
	for i := range a {
		each[i] = a[i] / b[i]
	}
	r.Paired = median(each)
	r.Low, r.High = interval(a, b)
	return r
}

func both(a, b []float64) (x, y []float64) {
	for i := range min(len(a), len(b)) {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			x, y = append(x, a[i]), append(y, b[i])
		}
	}
	return x, y
}

const resamplings = 1000

// interval resamples the rounds and returns the range that holds the ratio of the medians 95 times of 100.
func interval(a, b []float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(1, uint64(len(a)))) // the same rounds give the same interval
	x, y := make([]float64, len(a)), make([]float64, len(a))
	ratios := make([]float64, 0, resamplings)
	for range resamplings {
		for i := range a {
			k := rng.IntN(len(a))
			x[i], y[i] = a[k], b[k]
		}
		ratios = append(ratios, median(x)/median(y))
	}
	sorted := present(ratios)
	return quantile(sorted, 0.025), quantile(sorted, 0.975)
}
