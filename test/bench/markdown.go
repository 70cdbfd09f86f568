package main

import (
	"fmt"
	"strings"
)

// markdown writes the results as README's section shows them.
func markdown(r *results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, Linux %s, %d × %s%s, %.0f GiB, as uid %d, with everything in one run:\n\n",
		r.Time.Format("2006-01-02"), r.Machine.Kernel, r.Machine.CPUs, r.Machine.CPU,
		map[bool]string{true: " of a virtual machine"}[r.Machine.Virtual], float64(r.Machine.MemoryMiB)/1024, r.Machine.UID)
	markdownStarts(&b, r)
	markdownBlocks(&b, r)
	markdownGoals(&b, r)
	return b.String()
}

// markdownStarts writes one row a way: p50, p95, p99 and CPU of true, and p50 of the snippets.
func markdownStarts(b *strings.Builder, r *results) {
	t, ok := r.findTable("true")
	if !ok {
		return
	}
	snippets := []string{"python", "node"}
	b.WriteString("| milliseconds | `true` p50 | p95 | p99 | CPU | × bare | Python p50 | node p50 |\n|---|---|---|---|---|---|---|---|\n")
	base, _ := t.findRow(nameBare)
	write := func(w row, first bool) {
		if first {
			fmt.Fprintf(b, "| %s | %.2f | %s | %s | %s | %s |", w.Name, w.P50, orDash(w.P95, "%.2f"), orDash(w.P99, "%.2f"), orDash(w.CPU, "%.2f"), times(w.P50, base.P50))
		} else {
			fmt.Fprintf(b, "| %s | | | | | |", w.Name)
		}
		for _, name := range snippets {
			other, _ := r.findTable(name)
			same, _ := other.findRow(w.Name)
			fmt.Fprintf(b, " %s |", orDash(same.P50, "%.1f"))
		}
		b.WriteString("\n")
	}
	for _, w := range t.Rows {
		write(w, true)
	}
	written := map[string]bool{}
	for _, name := range snippets {
		other, _ := r.findTable(name)
		for _, w := range other.Rows {
			if _, in := t.findRow(w.Name); !in && !written[w.Name] {
				written[w.Name] = true
				write(w, false)
			}
		}
	}
	for _, m := range r.Missing {
		fmt.Fprintf(b, "\nNot measured: %s\n", m)
	}
	b.WriteString("\n")
}

func markdownBlocks(b *strings.Builder, r *results) {
	if len(r.Blocks) == 0 {
		return
	}
	b.WriteString("| `true`, callers that call again at once | callers | calls a second | p50 | p95 | p99 |\n|---|---|---|---|---|---|\n")
	for _, k := range r.Blocks {
		fmt.Fprintf(b, "| %s | %d | %.0f | %.1f | %.1f | %.1f |\n", k.Name, k.Callers, k.Rate, k.P50, k.P95, k.P99)
	}
	b.WriteString("\n")
}

func markdownGoals(b *strings.Builder, r *results) {
	b.WriteString("| what it is meant to be | goal | measured | |\n|---|---|---|---|\n")
	for _, g := range r.Goals {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", g.Name, g.bound(), g.measured(), g.verdict())
	}
}
