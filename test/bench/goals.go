package main

import "fmt"

// The lines that have a goal, in the order of their table. Each is the name of a ratio or a figure, but for those of what
// is not built, which are named all the same.
const (
	coldToBare     = "cold true, over a bare start"
	aheadToBare    = "cold true with namespaces made ahead, over a bare start"
	aheadCPU       = "CPU time of such a call, over a cold one's"
	coldToBwrap    = "cold true, over bwrap with all namespaces"
	cpuToBwrap     = "CPU time of a cold call, over bwrap's"
	armedToBare    = "armed true, over a bare start"
	processToPeer  = "toolcell run host true, over bwrap, as processes"
	pythonToBare   = "armed python print(2+2) through run_code, over a bare python3 -c"
	pinnedToBare   = "armed python print(2+2), pinned, over a bare python3 -c"
	importsToBare  = "armed python with five common imports, preloaded, over bare"
	nodeToBare     = "armed node (CommonJS), over a bare node -e"
	pythonToDocker = "armed python, over docker run of the same snippet"
	nodeToDocker   = "armed node, over docker run of the same snippet"
	heapToSmall    = "cold true with a 2 GiB heap in the caller, over 8 MiB"

	nameAhead = "toolcell, cold, namespaces made ahead"
)

// Figures of several callers.
const (
	callRate = "calls a second"
	cpuTime  = "CPU time"
)

// coldVersus names what a cold call is over bwrap's, with so many callers.
func coldVersus(callers int, what string) string {
	return fmt.Sprintf("%s at %d callers, cold, over bwrap's", what, callers)
}

// armedTail names the slowest armed calls over the slowest bare starts.
func armedTail(callers int) string {
	return fmt.Sprintf("p99 armed, over p99 of bare starts, %d callers", callers)
}

// The states of a goal.
const (
	reached     = "reached"
	missed      = "missed"
	notMeasured = "not measured"
)

// goal is what a line should be at most, or at least.
type goal struct {
	Name string `json:"name"`
	// Bound is inclusive. AtLeast says that more is better.
	Bound   float64 `json:"bound"`
	AtLeast bool    `json:"at_least,omitempty"`
	Unit    string  `json:"unit"`
	// Measured is 0 when nothing was.
	Measured float64 `json:"measured,omitempty"`
	State    string  `json:"state"`
	// Floor, if it is not 0, is what the line would be without anything of toolcell's, measured in the same run.
	Floor float64 `json:"floor,omitempty"`
	// Why is why it was not measured.
	Why string `json:"why,omitempty"`

	// way is what has to be there for it, for the table of that program.
	way, program string
}

// goals returns every goal.
func goals() []goal {
	const times, mib = "times", "MiB"
	return []goal{
		{Name: coldToBare, Bound: 3.0, Unit: times, way: nameCold},
		{Name: aheadToBare, Bound: 2.5, Unit: times, way: nameAhead},
		{Name: aheadCPU, Bound: 1.1, Unit: times, way: nameAhead},
		{Name: coldToBwrap, Bound: 0.52, Unit: times, way: nameBwrap},
		{Name: cpuToBwrap, Bound: 0.6, Unit: times, way: nameBwrap},
		{Name: armedToBare, Bound: 1.6, Unit: times, way: nameArmed},
		{Name: processToPeer, Bound: 1.2, Unit: times, way: nameBwrap},
		{Name: pythonToBare, Bound: 0.35, Unit: times, way: nameCodeArmed, program: "python"},
		{Name: pinnedToBare, Bound: 0.25, Unit: times, way: namePinned, program: "python"},
		{Name: importsToBare, Bound: 0.4, Unit: times, way: namePreloaded, program: "imports"},
		{Name: nodeToBare, Bound: 0.35, Unit: times, way: nameCodeArmed, program: "node"},
		{Name: pythonToDocker, Bound: 0.02, Unit: times, way: nameDocker, program: "python"},
		{Name: nodeToDocker, Bound: 0.04, Unit: times, way: nameDocker, program: "node"},
		{Name: heapToSmall, Bound: 1.2, Unit: times, way: nameHeaps},
		{Name: armedTail(8), Bound: 3, Unit: times, way: nameArmed},
		{Name: coldVersus(64, callRate), Bound: 2, AtLeast: true, Unit: times, way: nameBwrap},
		{Name: memoryOne, Bound: 2, Unit: mib, way: memoryOne},
		{Name: memoryPython, Bound: 7, Unit: mib, way: memoryPython},
		{Name: memoryNode, Bound: 40, Unit: mib, way: memoryNode},
		{Name: memoryHost, Bound: 4, Unit: mib, way: memoryHost},
	}
}

// judge compares what was measured with the goals. What was not measured is not reached.
func judge(r *results) []goal {
	lines := map[string]float64{}
	for _, l := range r.Ratios {
		lines[l.Name] = l.P50
	}
	for _, f := range r.Figures {
		lines[f.Name] = f.Value
	}
	all := goals()
	for i := range all {
		g := &all[i]
		v, ok := lines[g.Name]
		switch {
		case !ok:
			g.State, g.Why = notMeasured, r.why(g.way, g.program)
		case g.AtLeast == (v >= g.Bound) || v == g.Bound:
			g.Measured, g.State = v, reached
		default:
			g.Measured, g.State, g.Floor = v, missed, lines[floorOf(g.Name)]
		}
	}
	return all
}

// floorOf names the raw floor of a line.
func floorOf(name string) string { return name + ": raw floor" }

// why returns why a way was not measured.
func (r *results) why(way, program string) string {
	for _, m := range r.Missing {
		if m.Name == way && (m.Program == "" || m.Program == program) {
			return m.Cause
		}
	}
	return "left out of this run"
}

// bound writes what a goal asks for.
func (g goal) bound() string {
	word := "at most"
	if g.AtLeast {
		word = "at least"
	}
	return fmt.Sprintf("%s %g%s", word, g.Bound, g.suffix())
}

func (g goal) measured() string {
	if g.State == notMeasured {
		return "-"
	}
	return fmt.Sprintf("%.3g%s", g.Measured, g.suffix())
}

// verdict is the state, and what explains it.
func (g goal) verdict() string {
	switch {
	case g.Why != "":
		return g.State + ": " + g.Why
	case g.Floor != 0:
		return fmt.Sprintf("%s (raw floor %.3g%s)", g.State, g.Floor, g.suffix())
	default:
		return g.State
	}
}

func (g goal) suffix() string {
	if g.Unit == "times" {
		return ""
	}
	return " " + g.Unit
}
