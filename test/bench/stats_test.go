package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQuantile(t *testing.T) {
	sorted := []float64{1, 2, 3, 4, 5}
	assert.InDelta(t, 1.0, quantile(sorted, 0), 1e-9)
	assert.InDelta(t, 3.0, quantile(sorted, 0.5), 1e-9)
	assert.InDelta(t, 4.6, quantile(sorted, 0.9), 1e-9, "interpolated between neighbours")
	assert.InDelta(t, 5.0, quantile(sorted, 1), 1e-9)
	assert.InDelta(t, 7.0, quantile([]float64{7}, 0.99), 1e-9)
	assert.True(t, math.IsNaN(quantile(nil, 0.5)), "nothing measured is no figure")
}

// A round that leaves a slow peer out counts for neither side of a ratio.
func TestRatioTakesCommonRounds(t *testing.T) {
	slow := series{times: []float64{20, math.NaN(), 40, math.NaN()}}
	ref := series{times: []float64{2, 1000, 2, 1000}}
	r := newRatio("slow / ref", slow, ref)
	assert.InDelta(t, 15.0, r.P50, 1e-9)
	assert.InDelta(t, 15.0, r.Paired, 1e-9)
	assert.InDelta(t, 10.0, r.Low, 1e-9)
	assert.InDelta(t, 20.0, r.High, 1e-9)
	assert.Equal(t, 2, newRow(slow).Calls)
}

// The interval encloses the ratio, narrows with agreement, and is the same for the same rounds.
func TestInterval(t *testing.T) {
	steady, noisy := series{}, series{}
	ref := series{}
	for i := range 100 {
		ref.times = append(ref.times, 1+float64(i%3)/100)
		steady.times = append(steady.times, 3+float64(i%5)/100)
		noisy.times = append(noisy.times, 3+float64(i%50)/10)
	}
	a, b := newRatio("", steady, ref), newRatio("", noisy, ref)
	for _, r := range []ratio{a, b} {
		assert.LessOrEqual(t, r.Low, r.P50)
		assert.GreaterOrEqual(t, r.High, r.P50)
	}
	assert.Less(t, a.High-a.Low, b.High-b.Low)
	assert.Equal(t, b, newRatio("", noisy, ref))
}

// A percentile that so few calls do not have is none.
func TestRowOfFewCalls(t *testing.T) {
	few := newRow(series{times: make([]float64, callsOfP95-1)})
	assert.Zero(t, few.P95)
	times := make([]float64, callsOfP99)
	for i := range times {
		times[i] = float64(i)
	}
	many := newRow(series{times: times})
	assert.InDelta(t, 94.05, many.P95, 1e-9)
	assert.InDelta(t, 98.01, many.P99, 1e-9)
	assert.Zero(t, newRow(series{times: times[:callsOfP99-1]}).P99)
}
