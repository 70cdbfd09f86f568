package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

const (
	manyArmed   = 100
	memoryTurns = 9
	// memoryNoise is by how many MiB a sandbox the turns may differ whatever the figure is: what is little is not worth more.
	memoryNoise = 0.5
)

// memory measures what armed sandboxes take while they wait.
func (m *measurement) memory(string) error {
	one, err := m.armedPSS(sandbox.ContainerProfile{}, sandbox.Arming{Count: 1})
	if err != nil {
		return err
	}
	m.figure(memoryOne, one)
	for name, p := range map[string]program{memoryPython: python(), memoryNode: node()} {
		if err := m.interpreterPSS(name, p); err != nil {
			m.lacks(name, err)
		}
	}
	if err := m.hostMemory(); err != nil {
		m.lacks(memoryHost, err)
	}
	slices.SortFunc(m.results.Figures, func(a, b figure) int { return strings.Compare(a.Name, b.Name) })
	m.progress.clear()
	printFigures(os.Stdout, m.results.Figures)
	return nil
}

func (m *measurement) figure(name string, mib float64) {
	m.results.Figures = append(m.results.Figures, figure{Name: name, Value: mib, Unit: "MiB"})
}

// armedPSS returns the proportional set size, in MiB, of what Arm makes. The spawner, which all share, is not in it.
func (m *measurement) armedPSS(p sandbox.ContainerProfile, a sandbox.Arming) (mib float64, err error) {
	ctx := context.Background()
	before, err := descendants()
	if err != nil {
		return 0, err
	}
	if err := m.backend.Arm(ctx, p, a); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.backend.Arm(ctx, p, sandbox.Arming{})) }()
	made, err := newProcesses(before)
	if err != nil {
		return 0, err
	}
	if len(made) == 0 {
		return 0, errors.New("no process stands ready")
	}
	for _, pid := range made {
		v, err := pss(pid)
		if err != nil {
			return 0, err
		}
		mib += v
	}
	return mib, nil
}

func (m *measurement) interpreterPSS(name string, p program) (err error) {
	a := sandbox.Arming{Interpreter: p.code.interpreter}
	if err := errors.Join(exists(p.argv[0]), m.standsReady(p, a)); err != nil {
		return err
	}
	c, err := newSnippetCall(m.backend, p.code)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	a.Count, a.Once, a.Like = 1, true, c.command
	v, err := m.armedPSS(c.profile, a)
	if err != nil {
		return err
	}
	m.figure(name, v)
	if name != memoryPython {
		return nil
	}
	floor, err := barePSS(p)
	if err != nil {
		return err
	}
	m.figure(floorOf(name), floor)
	return nil
}

// hostMemory measures by how many MiB the host's used memory grows for each of many armed sandboxes. What others take or
// give back meanwhile is in each turn's figure; when the turns do not agree, nor nearly, there is none.
func (m *measurement) hostMemory() error {
	var each []float64
	for range memoryTurns {
		m.progress.show("memory: %d sandboxes", manyArmed)
		v, err := m.memoryOfMany()
		if err != nil {
			return err
		}
		each = append(each, v)
	}
	all := present(each)
	// Of nine values, the second and the eighth enclose the median in 96 of 100 cases.
	middle, low, high := median(all), all[1], all[len(all)-2]
	if (low < middle/2 || high > 2*middle) && high-low > memoryNoise {
		return fmt.Errorf("other processes' memory changed more than that of the sandboxes (%.2f to %.2f MiB each)", low, high)
	}
	m.figure(memoryHost, middle)
	return nil
}

// memoryOfMany compares the memory that is used while many stand ready with that before and after.
func (m *measurement) memoryOfMany() (float64, error) {
	ctx, p := context.Background(), sandbox.ContainerProfile{}
	before, err := usedMiB()
	if err != nil {
		return 0, err
	}
	if err := m.backend.Arm(ctx, p, sandbox.Arming{Count: manyArmed}); err != nil {
		return 0, err
	}
	during, err := usedMiB()
	if err := errors.Join(err, m.backend.Arm(ctx, p, sandbox.Arming{})); err != nil {
		return 0, err
	}
	const givenBack = 300 * time.Millisecond // the kernel frees namespaces in the background
	time.Sleep(givenBack)
	after, err := usedMiB()
	return (during - (before+after)/2) / manyArmed, err
}

// newProcesses lists the descendants that were not there before. The kernel's list may lack some while others end
// (proc(5), /proc/pid/task/tid/children), so an empty one is read again.
func newProcesses(before []string) ([]string, error) {
	for range 10 {
		now, err := descendants()
		now = slices.DeleteFunc(now, func(pid string) bool { return slices.Contains(before, pid) })
		if err != nil || len(now) > 0 {
			return now, err
		}
		time.Sleep(settle)
	}
	return nil, nil
}

// runs reports whether a program's path is that of an interpreter.
func runs(path string, i sandbox.Interpreter) bool {
	return i != sandbox.InterpreterNone && strings.HasPrefix(filepath.Base(path), string(i))
}

// pss reads a process's proportional set size: what it has for itself and its share of what it has with others.
func pss(pid string) (float64, error) {
	b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0, fmt.Errorf("read the memory of a sandbox: %w", err)
	}
	kib, err := kibibytes(b, "Pss:")
	return kib / 1024, err
}

// usedMiB is the memory that is neither free nor a cache that can be dropped. The page tables, the kernel's own objects
// and what lies in a tmpfs are in it.
func usedMiB() (float64, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read the host's memory: %w", err)
	}
	var sum float64
	for name, sign := range map[string]float64{"MemTotal:": 1, "MemFree:": -1, "Buffers:": -1, "Cached:": -1, "SReclaimable:": -1, "Shmem:": 1} {
		kib, err := kibibytes(b, name)
		if err != nil {
			return 0, err
		}
		sum += sign * kib
	}
	return sum / 1024, nil
}

// kibibytes finds a line such as "Pss:  123 kB".
func kibibytes(b []byte, name string) (float64, error) {
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) == 3 && f[0] == name {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, fmt.Errorf("read %s %w", name, unix.ENOENT)
}

// availableMiB is how much memory new work may take, or 0 when that cannot be read.
func availableMiB() int {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	kib, err := kibibytes(b, "MemAvailable:")
	if err != nil {
		return 0
	}
	return int(kib / 1024)
}
