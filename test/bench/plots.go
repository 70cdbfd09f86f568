package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/test/bench/chart"
)

// draw draws the results of an earlier run, and prints the section of the README that shows them.
func draw(path, dir string) error {
	r, err := readJSON(path)
	if err != nil {
		return err
	}
	fmt.Print(markdown(r))
	return writePlots(dir, r)
}

// writePlots draws every picture into dir.
func writePlots(dir string, r *results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("draw the results: %w", err)
	}
	for name, svg := range plots(r) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(svg), 0o644); err != nil {
			return fmt.Errorf("draw the results: %w", err)
		}
	}
	return nil
}

// plots returns the pictures by the names of their files.
func plots(r *results) map[string]string {
	out := map[string]string{}
	for name, title := range map[string]string{"true": "/bin/true", "python": "python3 -c 'print(2+2)'", "node": "node -e 'console.log(2+2)'"} {
		if t, ok := r.findTable(name); ok {
			out[name+".svg"] = startsOf(t, title, r).SVG()
		}
	}
	if len(r.Blocks) > 0 {
		out["callers.svg"] = callersOf(r, "Time of a call, p50, /bin/true", "ms", func(b block) float64 { return b.P50 }).SVG()
		out["rate.svg"] = callersOf(r, "Calls a second, /bin/true", "/s", func(b block) float64 { return b.Rate }).SVG()
	}
	if t, ok := r.findTable("heap"); ok {
		out["heap.svg"] = heapsOf(t, r).SVG()
	}
	return out
}

// kindOf says whose a way is.
func kindOf(name string) chart.Kind {
	switch {
	case strings.HasPrefix(name, "toolcell"):
		return chart.Ours
	case strings.HasPrefix(name, nameBare):
		return chart.Reference
	}
	return chart.Peer
}

// rank orders ways in a table: what is measured against, toolcell, the others.
func rank(name string) int {
	return map[chart.Kind]int{chart.Reference: 0, chart.Ours: 1, chart.Peer: 2}[kindOf(name)]
}

// startsOf draws how long a call takes, the quickest first.
func startsOf(t table, title string, r *results) chart.Bars {
	p := chart.Bars{Title: title, Subtitle: "p50, a thin line to p95; logarithmic; " + r.Machine.short(), Unit: "ms"}
	rows := slices.Clone(t.Rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		switch {
		case a.P50 < b.P50:
			return -1
		case a.P50 > b.P50:
			return 1
		}
		return 0
	})
	for _, w := range rows {
		p.Bars = append(p.Bars, chart.Bar{Label: shortened(w.Name), Kind: kindOf(w.Name), Value: w.P50, Tail: w.P95})
	}
	return p
}

// shortened leaves out what a picture's label has no room for.
func shortened(name string) string {
	return strings.NewReplacer("toolcell run_code", "run_code", "bare start, output captured", "bare, output captured", " (a process)", "", " (sandbox-runtime)", "").Replace(name)
}

// callersOf draws a figure of each way over the number of callers.
func callersOf(r *results, title, unit string, value func(block) float64) chart.Lines {
	var counts []int
	var names []string
	for _, b := range r.Blocks {
		if !slices.Contains(counts, b.Callers) {
			counts = append(counts, b.Callers)
		}
		if !slices.Contains(names, b.Name) {
			names = append(names, b.Name)
		}
	}
	slices.Sort(counts)
	p := chart.Lines{Title: title, Subtitle: "by the number of callers that call again at once; " + r.Machine.short(), Unit: unit}
	for _, n := range counts {
		p.Places = append(p.Places, fmt.Sprint(n))
	}
	for _, name := range names {
		line := chart.Line{Label: shortened(name), Kind: kindOf(name)}
		for _, n := range counts {
			b, _ := findBlock(r.Blocks, name, n)
			line.Values = append(line.Values, value(b))
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// heapsOf draws how a call's time depends on its caller's memory.
func heapsOf(t table, r *results) chart.Lines {
	p := chart.Lines{Title: "Callers with large heaps, p50, /bin/true", Subtitle: "by the memory that the caller holds; " + r.Machine.short(), Unit: "ms"}
	for _, mib := range heaps() {
		p.Places = append(p.Places, strings.TrimSuffix(strings.TrimPrefix(heapOf(mib), ", "), " heap"))
	}
	for _, name := range []string{nameBare, nameCold, nameNewUser} {
		line := chart.Line{Label: name, Kind: kindOf(name)}
		for _, mib := range heaps() {
			w, _ := t.findRow(name + heapOf(mib))
			line.Values = append(line.Values, w.P50)
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// short describes the machine for a picture.
func (m machine) short() string {
	return fmt.Sprintf("Linux %s, %d x %s", m.Kernel, m.CPUs, m.CPU)
}
