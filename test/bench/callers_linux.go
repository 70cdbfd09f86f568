package main

import (
	"os"
	"slices"
	"time"
)

// callerCounts are how many callers call at once, beside one.
func callerCounts() []int { return []int{8, 64, 256} }

// few is the most callers that engines are asked to serve: they take a tenth of a second of CPU time a call and more.
const few = 8

// compared reports whether a way is measured with that many callers.
func compared(name string, callers int) bool {
	if name == nameDocker || name == namePodman {
		return callers <= few
	}
	return slices.Contains([]string{nameBare, nameCold, nameArmed, nameBwrap}, name)
}

// parallel measures several callers that call again at once.
func (m *measurement) parallel(dir string) error {
	var runs []*blockRun
	ways := m.ways(truth(), dir)
	for _, n := range callerCounts() {
		for _, s := range ways {
			if compared(s.name, n) {
				runs = append(runs, &blockRun{subject: s, callers: n})
			}
		}
	}
	served := m.backend.ArmedStats()
	done, err := m.blocks("callers", m.blockRounds).measure(runs)
	if err != nil {
		return err
	}
	after := m.backend.ArmedStats()
	m.results.Found, m.results.NotFound = after.Served-served.Served, after.Missed-served.Missed
	for _, r := range done {
		m.results.Blocks = append(m.results.Blocks, r.block())
	}
	slices.SortStableFunc(m.results.Blocks, func(a, b block) int { return a.Callers - b.Callers })
	m.progress.clear()
	printBlocks(os.Stdout, &m.results)
	m.results.Ratios = append(m.results.Ratios, blockRatios(m.results.Blocks)...)
	return nil
}

// blocks plans blocks of a table.
func (m *measurement) blocks(title string, turns int) blockPlan {
	lost := func(name string, err error) { m.lacksIn(title, name, err) }
	return blockPlan{rounds: turns, length: m.blockLength, title: title, progress: m.progress, lost: lost}
}

// cpu measures what a call of each way takes of the processors, by one caller that calls again at once.
func (m *measurement) cpu(p program, ways []subject) ([]block, error) {
	runs := make([]*blockRun, len(ways))
	for i, s := range ways {
		runs[i] = &blockRun{subject: s, callers: 1}
	}
	plan := m.blocks(p.name+", CPU", m.blockRounds)
	plan.length /= time.Duration(p.rounds)
	done, err := plan.measure(runs)
	if err != nil {
		return nil, err
	}
	blocks := make([]block, len(done))
	for i, r := range done {
		blocks[i] = r.block()
	}
	return blocks, nil
}

// blockRatios compares ways at every number of callers.
func blockRatios(blocks []block) []ratio {
	var out []ratio
	for _, a := range blocks {
		if peer, ok := findBlock(blocks, nameBwrap, a.Callers); ok && a.Name == nameCold {
			out = append(out, againstPeer(a, peer)...)
		}
		if ref, ok := findBlock(blocks, nameBare, a.Callers); ok && a.Name == nameArmed {
			out = append(out, ratio{Name: armedTail(a.Callers), P50: a.P99 / ref.P99})
		}
	}
	return out
}

func againstPeer(a, peer block) []ratio {
	out := []ratio{
		{Name: coldVersus(a.Callers, "p50"), P50: a.P50 / peer.P50}, {Name: coldVersus(a.Callers, "p99"), P50: a.P99 / peer.P99},
		{Name: coldVersus(a.Callers, callRate), P50: a.Rate / peer.Rate, More: true},
	}
	if a.CPU > 0 && peer.CPU > 0 {
		out = append(out, ratio{Name: coldVersus(a.Callers, cpuTime), P50: a.CPU / peer.CPU})
	}
	return out
}
