package soak_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// count is what this process and those below it hold.
type count struct {
	Descriptors, Memfds, Goroutines, Processes, Mounts, Cgroups, Files int
	// Below are the descriptors of the processes below.
	Below int
}

// counter counts in places of its own: a directory for temporary files and a cgroup in every hierarchy.
type counter struct {
	temp    string
	parent  string
	cgroups []string
}

// newCounter prepares the places. They go with the test.
func newCounter(t *testing.T) *counter {
	t.Helper()
	c := &counter{temp: t.TempDir(), parent: fmt.Sprintf("toolcell-soak-%d", os.Getpid())}
	require.NoError(t, os.Chmod(c.temp, 0o755))
	t.Setenv("TMPDIR", c.temp)
	if os.Geteuid() != 0 {
		c.parent = ""
		return c
	}
	for _, mount := range hierarchies(t) {
		dir := filepath.Join(mount, c.parent)
		require.NoError(t, os.Mkdir(dir, 0o755))
		t.Cleanup(func() { assert.NoError(t, os.Remove(dir)) })
		c.cgroups = append(c.cgroups, dir)
	}
	return c
}

// hierarchies are the mounts of the controllers that limits need, and of version 2.
func hierarchies(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("/proc/self/mountinfo")
	require.NoError(t, err)
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		kind := strings.Fields(after)
		if len(kind) < 3 || kind[0] != "cgroup" && kind[0] != "cgroup2" {
			continue
		}
		controller := slices.ContainsFunc(strings.Split(kind[2], ","), func(o string) bool {
			return slices.Contains([]string{"memory", "pids", "cpu", "cpuacct"}, o)
		})
		if controller || kind[0] == "cgroup2" {
			out = append(out, strings.Fields(before)[4])
		}
	}
	require.NoError(t, lines.Err())
	return out
}

// now counts.
func (c *counter) now(t *testing.T) count {
	t.Helper()
	var n count
	n.Descriptors, n.Memfds = descriptors(t)
	n.Goroutines = runtime.NumGoroutine()
	for _, pid := range descendants(os.Getpid()) {
		n.Processes++
		open, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd") // it may just have ended
		n.Below += len(open)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	n.Mounts = bytes.Count(mounts, []byte("\n"))
	for _, dir := range c.cgroups {
		n.Cgroups += entries(t, dir, fs.DirEntry.IsDir)
	}
	n.Files = entries(t, c.temp, func(fs.DirEntry) bool { return true })
	return n
}

// settled counts until nothing is more than before, for what is given back in the background; then it is what it is.
func (c *counter) settled(t *testing.T, before count) count {
	t.Helper()
	var n count
	for range 200 {
		runtime.GC()
		if n = c.now(t); !n.exceeds(before) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return n
}

// nothingMore fails when anything is more than before. Less is the doing of others on this machine.
func (c *counter) nothingMore(t *testing.T, before count, when string) {
	t.Helper()
	after := c.settled(t, before)
	assert.False(t, after.exceeds(before), "%s: %+v, and before %+v", when, after, before)
}

func (n count) exceeds(m count) bool {
	return n.Descriptors > m.Descriptors || n.Memfds > m.Memfds || n.Goroutines > m.Goroutines || n.Processes > m.Processes ||
		n.Mounts > m.Mounts || n.Cgroups > m.Cgroups || n.Files > m.Files || n.Below > m.Below
}

// descriptors counts this process's, without the runtime's own event queue, and how many are anonymous memory.
func descriptors(t *testing.T) (all, memfds int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range list {
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || link == "anon_inode:[eventpoll]" || link == "anon_inode:[eventfd]" {
			continue
		}
		all++
		if strings.HasPrefix(link, "/memfd:") {
			memfds++
		}
	}
	return all, memfds
}

func entries(t *testing.T, dir string, which func(fs.DirEntry) bool) int {
	t.Helper()
	n := -1 // dir itself
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && which(d) {
			n++
		}
		return nil // what goes away meanwhile is not there
	})
	require.NoError(t, err)
	return n
}

// members lists the processes in the counter's cgroups.
func (c *counter) members() []string {
	var out []string
	for _, dir := range c.cgroups {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == "cgroup.procs" {
				data, _ := os.ReadFile(path)
				out = append(out, strings.Fields(string(data))...)
			}
			return nil
		})
	}
	return out
}

// descendants lists the processes below pid.
func descendants(pid int) []int {
	var out []int
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, l := range lists {
		data, err := os.ReadFile(l)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(f); err == nil {
				out = append(append(out, child), descendants(child)...)
			}
		}
	}
	return out
}

// objects is the number of objects on the heap after a collection.
func objects() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapObjects)
}

// resident is a process's resident memory in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize() / 1024
}
