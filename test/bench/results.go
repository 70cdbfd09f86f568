package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// results is everything of one run, and the schema of its JSON. Times are in milliseconds.
type results struct {
	Time     time.Time         `json:"time"`
	Machine  machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	Tables   []table           `json:"tables"`
	Blocks   []block           `json:"back_to_back"`
	Figures  []figure          `json:"figures"`
	Ratios   []ratio           `json:"ratios"`
	Goals    []goal            `json:"goals"`
	Missing  []missing         `json:"not_measured"`
	Steps    *stepProfile      `json:"steps,omitempty"`
	Absent   []string          `json:"guarantees_absent"`
	Enforced int               `json:"guarantees_enforced"`
	// Found and NotFound are how many armed calls of several callers found a sandbox standing ready, and how many did not.
	Found    int `json:"armed_found"`
	NotFound int `json:"armed_not_found"`
}

// machine is where a run took place.
type machine struct {
	Kernel    string  `json:"kernel"`
	Arch      string  `json:"arch"`
	CPU       string  `json:"cpu"`
	CPUs      int     `json:"cpus"`
	Virtual   bool    `json:"virtual"`
	MemoryMiB int     `json:"memory_mib"`
	UID       int     `json:"uid"`
	Go        string  `json:"go"`
	LoadStart string  `json:"load_start"`
	LoadEnd   string  `json:"load_end"`
	Steal     float64 `json:"steal_percent"`
}

// table is a set of ways that were measured in the same rounds.
type table struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Rows  []row  `json:"rows"`
}

// row is one way's times. A percentile that so few calls do not have is left out.
type row struct {
	Name  string  `json:"name"`
	Calls int     `json:"calls"`
	Min   float64 `json:"min"`
	P10   float64 `json:"p10"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95,omitempty"`
	P99   float64 `json:"p99,omitempty"`
	// CPU is the CPU time of this program and all its descendants, a call, by one caller that calls again at once.
	CPU float64 `json:"cpu,omitempty"`
}

// block is one way's calls by a number of callers, each calling again as soon as it has its answer.
type block struct {
	Name    string  `json:"name"`
	Callers int     `json:"callers"`
	Calls   int     `json:"calls"`
	Rate    float64 `json:"calls_per_second"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	P99     float64 `json:"p99"`
	// CPU is the CPU time of this program and all its descendants, a call. What stood ready has none here.
	CPU float64 `json:"cpu,omitempty"`
	// Machine is the CPU time of the whole machine, a call.
	Machine float64 `json:"machine_cpu,omitempty"`
}

// figure is something that was measured by itself.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// ratio compares two ways. Less is better, unless More says otherwise.
type ratio struct {
	Name string `json:"name"`
	// P50 and P10 are those of the medians and of the tenth percentiles.
	P50 float64 `json:"p50"`
	P10 float64 `json:"p10,omitempty"`
	// More says that more is better.
	More bool `json:"more_is_better,omitempty"`
	// Gate says that a comparison's limit holds for it: it is toolcell's, and it was measured in rounds.
	Gate bool `json:"gate,omitempty"`
	// Paired is the median of the ratios of each round.
	Paired float64 `json:"paired,omitempty"`
	// Low and High enclose P50 in 95 of 100 resamplings.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// missing is something that could not be measured here.
type missing struct {
	Name string `json:"name"`
	// Program is the table's for which that is so. "" is all of them.
	Program string `json:"program,omitempty"`
	Cause   string `json:"cause"`
}

// String says so in a line.
func (m missing) String() string {
	if m.Program == "" {
		return m.Name + ": " + m.Cause
	}
	return m.Name + " (" + m.Program + "): " + m.Cause
}

// note notes what is missing, and reports whether that is news.
func (r *results) note(m missing) bool {
	for i, have := range r.Missing {
		if have.Name == m.Name && have.Cause == m.Cause {
			if have.Program != m.Program {
				r.Missing[i].Program = ""
			}
			return false
		}
	}
	r.Missing = append(r.Missing, m)
	return true
}

// stepProfile says where cold calls spend their time. Times are medians in microseconds.
type stepProfile struct {
	// Calls is how many calls were seen whole, of how many.
	Calls int `json:"calls"`
	Of    int `json:"of"`
	// Untraced and Traced are the median of a call without and with perf watching.
	Untraced float64 `json:"untraced"`
	Traced   float64 `json:"traced"`
	// Phases are in order; Verbs, Guarantees and Steps are init's part of it, the most expensive first.
	Phases     []part `json:"phases"`
	Guarantees []part `json:"guarantees"`
	Verbs      []part `json:"system_calls"`
	Steps      []part `json:"steps"`
}

// part is a share of a call.
type part struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Time  float64 `json:"us"`
}

// findTable returns the table of that name.
func (r *results) findTable(name string) (table, bool) {
	for _, t := range r.Tables {
		if t.Name == name {
			return t, true
		}
	}
	return table{}, false
}

// findRow returns the row of that name.
func (t table) findRow(name string) (row, bool) {
	for _, r := range t.Rows {
		if r.Name == name {
			return r, true
		}
	}
	return row{}, false
}

// findBlock returns the block of a way with so many callers.
func findBlock(blocks []block, name string, callers int) (block, bool) {
	for _, b := range blocks {
		if b.Name == name && b.Callers == callers {
			return b, true
		}
	}
	return block{}, false
}

func writeJSON(path string, r *results) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

func readJSON(path string) (*results, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var r results
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("read results of %s: %w", path, err)
	}
	return &r, nil
}
