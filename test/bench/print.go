package main

import (
	"fmt"
	"io"
	"strings"
)

func (m machine) print(w io.Writer) {
	fmt.Fprintln(w, m)
}

// String describes the machine in a line.
func (m machine) String() string {
	kind := ""
	if m.Virtual {
		kind = " of a virtual machine"
	}
	return fmt.Sprintf("Linux %s, %s, %d x %s%s, %.0f GiB, %s, uid %d, load %s",
		m.Kernel, m.Arch, m.CPUs, m.CPU, kind, float64(m.MemoryMiB)/1024, m.Go, m.UID, m.LoadStart)
}

func (t table) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s (ms)\n", t.Title)
	fmt.Fprintf(w, "  %-42s %6s %9s %9s %9s %9s %9s %7s\n", "", "calls", "min", "p50", "p95", "p99", "CPU", "x bare")
	base, _ := t.findRow(nameBare)
	for _, r := range t.Rows {
		fmt.Fprintf(w, "  %-42s %6d %9.2f %9.2f %9s %9s %9s %7s\n",
			r.Name, r.Calls, r.Min, r.P50, orDash(r.P95, "%.2f"), orDash(r.P99, "%.2f"), orDash(r.CPU, "%.2f"), times(r.P50, base.P50))
	}
}

// orDash writes what was measured.
func orDash(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// times writes how many times a reference something is.
func times(v, reference float64) string {
	if reference == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v/reference)
}

func printRatios(w io.Writer, title string, ratios []ratio) {
	fmt.Fprintf(w, "\n%s\n  %-72s %7s %7s %7s  %s\n", title, "", "p50", "p10", "paired", "95 % of p50")
	for _, r := range ratios {
		fmt.Fprintf(w, "  %-72s %7.3f %s %s  %s\n", r.Name, r.P50, orBlank(r.P10), orBlank(r.Paired), span(r))
	}
}

func orBlank(v float64) string {
	if v == 0 {
		return strings.Repeat(" ", 7)
	}
	return fmt.Sprintf("%7.3f", v)
}

func span(r ratio) string {
	switch {
	case r.High != 0:
		return fmt.Sprintf("%.3f to %.3f", r.Low, r.High)
	case r.More:
		return "(more is better)"
	}
	return ""
}

func printBlocks(w io.Writer, r *results) {
	fmt.Fprintf(w, "\nback to back: callers that call again at once, /bin/true (ms a call; \"machine\" counts whatever else runs, too)\n")
	fmt.Fprintf(w, "  %-32s %7s %7s %9s %8s %8s %8s %8s %8s\n", "", "callers", "calls", "calls/s", "p50", "p95", "p99", "CPU", "machine")
	for _, b := range r.Blocks {
		fmt.Fprintf(w, "  %-32s %7d %7d %9.0f %8.2f %8.2f %8.2f %8s %8s\n",
			b.Name, b.Callers, b.Calls, b.Rate, b.P50, b.P95, b.P99, orDash(b.CPU, "%.2f"), orDash(b.Machine, "%.2f"))
	}
	fmt.Fprintf(w, "  of the armed calls %d found a sandbox standing ready and %d did not\n", r.Found, r.NotFound)
}

func printFigures(w io.Writer, figures []figure) {
	fmt.Fprintf(w, "\nmemory of what stands ready\n")
	for _, f := range figures {
		fmt.Fprintf(w, "  %-60s %8.2f %s\n", f.Name, f.Value, f.Unit)
	}
}

func printGoals(w io.Writer, goals []goal) {
	fmt.Fprintf(w, "\nagainst the goals\n")
	for _, g := range goals {
		fmt.Fprintf(w, "  %-72s %14s  %10s  %s\n", g.Name, g.bound(), g.measured(), g.verdict())
	}
}
