package main

import (
	"fmt"
	"io"
	"strings"
)

func (m machine) print(w io.Writer) {
	fmt.Fprintf(w, "Linux %s, %s, %d x %s, %s, uid %d, load %s\n", m.Kernel, m.Arch, m.CPUs, m.CPU, m.Go, m.UID, m.LoadStart)
}

func (t table) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s (ms)\n", t.Title)
	fmt.Fprintf(w, "  %-42s %7s %8s %8s %8s %8s %8s\n", "", "calls", "min", "p10", "p50", "p90", "p99")
	for _, r := range t.Rows {
		fmt.Fprintf(w, "  %-42s %7d %8.2f %8.2f %8.2f %8.2f %8.2f\n", r.Name, r.Calls, r.Min, r.P10, r.P50, r.P90, r.P99)
	}
}

func printRatios(w io.Writer, title string, ratios []ratio) {
	fmt.Fprintf(w, "\n%s\n  %-50s %7s %7s %7s  %s\n", title, "", "p50", "p10", "paired", "95 % of p50")
	for _, r := range ratios {
		fmt.Fprintf(w, "  %-50s %7.2f %s %s  %s\n", r.Name, r.P50, orBlank(r.P10), orBlank(r.Paired), span(r))
	}
}

func orBlank(v float64) string {
	if v == 0 {
		return strings.Repeat(" ", 7)
	}
	return fmt.Sprintf("%7.2f", v)
}

func span(r ratio) string {
	if r.High == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f to %.2f", r.Low, r.High)
}

func printBlocks(w io.Writer, blocks []block) {
	fmt.Fprintf(w, "\nback to back: callers that call again at once (ms a call; \"machine\" counts whatever else runs, too)\n")
	fmt.Fprintf(w, "  %-32s %7s %7s %9s %8s %8s %8s %8s\n", "", "callers", "calls", "calls/s", "p50", "p99", "CPU", "machine")
	for _, b := range blocks {
		fmt.Fprintf(w, "  %-32s %7d %7d %9.0f %8.2f %8.2f %8.2f %8.2f\n", b.Name, b.Callers, b.Calls, b.Rate, b.P50, b.P99, b.CPU, b.Machine)
	}
}

func printGoals(w io.Writer, goals []goal) {
	fmt.Fprintf(w, "\nagainst the goals (ratio of medians)\n")
	for _, g := range goals {
		switch {
		case !g.Known:
			fmt.Fprintf(w, "  %-42s at most %.1f: not measured\n", g.Name, g.AtMost)
		case g.Met:
			fmt.Fprintf(w, "  %-42s at most %.1f: %5.2f, met\n", g.Name, g.AtMost, g.Measured)
		default:
			fmt.Fprintf(w, "  %-42s at most %.1f: %5.2f, not met\n", g.Name, g.AtMost, g.Measured)
		}
	}
}
