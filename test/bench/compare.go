package main

import (
	"fmt"
	"io"
	"math"
	"slices"
)

// compare prints how each line of one run changed to another, and returns the worst change among those of toolcell that
// both runs have from rounds, and of memory: 1.2 is a fifth worse. It is NaN when they have none in common.
func compare(w io.Writer, before, after *results) float64 {
	old := make(map[string]ratio, len(before.Ratios))
	for _, r := range before.lines() {
		old[r.Name] = r
	}
	worst := math.NaN()
	fmt.Fprintf(w, "%-72s %8s %8s %8s  %s\n", "medians", "before", "after", "change", "95 % before / after")
	for _, r := range after.lines() {
		o, ok := old[r.Name]
		if !ok {
			continue
		}
		change := r.P50 / o.P50
		if r.More {
			change = 1 / change
		}
		if r.Gate && (math.IsNaN(worst) || change > worst) {
			worst = change
		}
		fmt.Fprintf(w, "%-72s %8.3f %8.3f %8.3f  %s%s\n", r.Name, o.P50, r.P50, change, spans(o, r), apart(o, r))
	}
	return worst
}

// lines are the ratios, and the figures as if they were ratios.
func (r *results) lines() []ratio {
	all := slices.Clone(r.Ratios)
	for _, f := range r.Figures {
		all = append(all, ratio{Name: f.Name + ", " + f.Unit, P50: f.Value, Gate: true})
	}
	return all
}

func spans(o, r ratio) string {
	if o.High == 0 || r.High == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f-%.2f / %.2f-%.2f", o.Low, o.High, r.Low, r.High)
}

// apart marks a change that the rounds' own scatter does not explain.
func apart(o, r ratio) string {
	switch {
	case o.High == 0 || r.High == 0:
		return ""
	case r.Low > o.High:
		return "  slower"
	case r.High < o.Low:
		return "  faster"
	}
	return ""
}

// runCompare compares two files. It reports false when a limit was asked for and a change exceeds it.
func runCompare(w io.Writer, oldPath, newPath string, limit float64) (bool, error) {
	before, err := readJSON(oldPath)
	if err != nil {
		return false, err
	}
	after, err := readJSON(newPath)
	if err != nil {
		return false, err
	}
	worst := compare(w, before, after)
	if limit == 0 {
		return true, nil
	}
	if math.IsNaN(worst) {
		return false, fmt.Errorf("compare %s and %s: they have no ratio in common", oldPath, newPath)
	}
	fmt.Fprintf(w, "worst change %.3f, limit %.3f\n", worst, limit)
	return worst <= limit, nil
}
