package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// results is everything of one run, and the schema of its JSON. Times are in milliseconds.
type results struct {
	Time     time.Time    `json:"time"`
	Machine  machine      `json:"machine"`
	Rounds   int          `json:"rounds"`
	Tables   []table      `json:"tables"`
	Blocks   []block      `json:"back_to_back"`
	Ratios   []ratio      `json:"ratios"`
	Goals    []goal       `json:"goals"`
	Missing  []missing    `json:"not_measured"`
	Steps    *stepProfile `json:"steps,omitempty"`
	Absent   []string     `json:"guarantees_absent"`
	Enforced int          `json:"guarantees_enforced"`
}

// machine is where a run took place.
type machine struct {
	Kernel    string  `json:"kernel"`
	Arch      string  `json:"arch"`
	CPU       string  `json:"cpu"`
	CPUs      int     `json:"cpus"`
	UID       int     `json:"uid"`
	Go        string  `json:"go"`
	LoadStart string  `json:"load_start"`
	LoadEnd   string  `json:"load_end"`
	Steal     float64 `json:"steal_percent"`
}

// table is a set of ways that were measured in the same rounds.
type table struct {
	Title string `json:"title"`
	Rows  []row  `json:"rows"`
}

// row is one way's times.
type row struct {
	Name  string  `json:"name"`
	Calls int     `json:"calls"`
	Min   float64 `json:"min"`
	P10   float64 `json:"p10"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
}

// block is one way's calls by a number of callers, each calling again as soon as it has its answer.
type block struct {
	Name    string  `json:"name"`
	Callers int     `json:"callers"`
	Calls   int     `json:"calls"`
	Rate    float64 `json:"calls_per_second"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	// CPU is the CPU time of this program and all its children, a call.
	CPU float64 `json:"cpu"`
	// Machine is the CPU time of the whole machine, a call.
	Machine float64 `json:"machine_cpu"`
}

// ratio compares two ways. Less is better in every one of them.
type ratio struct {
	Name string `json:"name"`
	// P50 and P10 are those of the medians and of the tenth percentiles.
	P50 float64 `json:"p50"`
	P10 float64 `json:"p10,omitempty"`
	// Gate says that a comparison's limit holds for it: it is toolcell's, and it was measured in rounds.
	Gate bool `json:"gate,omitempty"`
	// Paired is the median of the ratios of each round.
	Paired float64 `json:"paired,omitempty"`
	// Low and High enclose P50 in 95 of 100 resamplings.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// goal is what a ratio should be at most.
type goal struct {
	Name     string  `json:"name"`
	AtMost   float64 `json:"at_most"`
	Measured float64 `json:"measured"`
	// Known is false when the ratio was not measured.
	Known bool `json:"known"`
	Met   bool `json:"met"`
}

// missing is something that could not be measured here.
type missing struct {
	Name  string `json:"name"`
	Cause string `json:"cause"`
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

// The ratios that have a goal.
const (
	coldToBwrap   = "cold call / bwrap"
	coldToBare    = "cold call / bare start"
	armedToBare   = "armed call / bare start"
	processToPeer = "toolcell run / bwrap, as processes"
	heapToSmall   = "cold call, 1 GiB heap / small heap"
)

// judge compares the ratios with the goals.
func judge(ratios []ratio) []goal {
	goals := []goal{
		{Name: coldToBwrap, AtMost: 0.6},
		{Name: coldToBare, AtMost: 3.5},
		{Name: armedToBare, AtMost: 1.6},
		{Name: processToPeer, AtMost: 1.5},
		{Name: heapToSmall, AtMost: 1.3},
	}
	for i := range goals {
		g := &goals[i]
		for _, r := range ratios {
			if r.Name == g.Name {
				g.Measured, g.Known, g.Met = r.P50, true, r.P50 <= g.AtMost
			}
		}
	}
	return goals
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
