package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// childEnv makes the test binary a process that joins a group and then does what the variable says: "task argument".
const childEnv = "CGROUP_TEST_CHILD"

// joinEnv is the number of descriptors from 3 on that the child writes "0" to, as a sandbox's first process does.
const joinEnv = "CGROUP_TEST_JOIN"

func TestMain(m *testing.M) {
	task := os.Getenv(childEnv)
	if task == "" {
		os.Exit(m.Run())
	}
	os.Exit(child(task))
}

func child(task string) int {
	if err := joinGroup(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	name, argument, _ := strings.Cut(task, " ")
	n, err := strconv.Atoi(argument)
	if err != nil {
		return 98
	}
	switch name {
	case "touch": // n MiB of memory
		return touch(n)
	case "fork": // n children at once
		return forks(n)
	case "burn": // n milliseconds of CPU time
		return burn(time.Duration(n) * time.Millisecond)
	case "wait": // for the end of stdin
		_, err := io.Copy(io.Discard, os.Stdin)
		return map[bool]int{true: 0, false: 1}[err == nil]
	case "sleep": // n milliseconds
		time.Sleep(time.Duration(n) * time.Millisecond)
		return 0
	case "open": // and print the error with its fix
		return tryOpen()
	case "instance": // hold a manager and a group with a process in it until killed
		return instance()
	}
	return 97
}

func joinGroup() error {
	count, err := strconv.Atoi(os.Getenv(joinEnv))
	if err != nil {
		return err
	}
	for i := range count {
		if _, err := unix.Write(3+i, []byte("0")); err != nil {
			return fmt.Errorf("join %d: %w", i, err)
		}
		if err := joinThreads(3 + i); err != nil {
			return fmt.Errorf("join %d: %w", i, err)
		}
	}
	return nil
}

// joinThreads has the other threads of this process join, which on v1 do so one by one. A sandbox's first process has none.
// Those that one of them starts meanwhile are found by the second look.
func joinThreads(fd int) error {
	for range 2 {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if _, err := unix.Write(fd, []byte(t.Name())); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

func touch(mib int) int {
	m, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return 1
	}
	for i := 0; i < len(m); i += os.Getpagesize() {
		m[i] = 1
	}
	return 0
}

// forks exits with 0 if all n children could be started, else 3.
func forks(n int) int {
	code := 0
	var all []*exec.Cmd
	for range n {
		c := exec.Command("/bin/sleep", "60")
		if err := c.Start(); err != nil {
			code = 3
			break
		}
		all = append(all, c)
	}
	for _, c := range all {
		c.Process.Kill()
		c.Wait()
	}
	return code
}

// burn uses CPU time; what the runtime's start used before the process joined does not count.
func burn(d time.Duration) int {
	runtime.LockOSThread()
	var start, now unix.Timespec
	for clock := &start; ; clock = &now {
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, clock); err != nil {
			return 1
		}
		if clock == &now && time.Duration(now.Nano()-start.Nano()) >= d {
			return 0
		}
	}
}

// tryOpen exits with 0 when Open fails as it should, with an *Error.
func tryOpen() int {
	m, err := Open(Config{})
	var known *Error
	if errors.As(err, &known) {
		fmt.Println(err, "FIX", known.Fix)
		return 0
	}
	fmt.Println("opened", m != nil, err)
	return 1
}

// instance opens a manager, puts a process that outlives it into a group, and prints "ready" and the directories.
func instance() int {
	m, err := Open(Config{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	g, err := m.Acquire(Limits{MemoryBytes: 64 << 20, PIDs: 32, CPUs: 1})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := command("sleep 600000", g.Procs())
	if err := c.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	for _, h := range m.found {
		fmt.Println(h.inst.root.Name())
	}
	fmt.Println("ready", c.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// command is a child that joins the group behind procs and performs the task.
func command(task string, procs []*os.File) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = []string{childEnv + "=" + task, joinEnv + "=" + strconv.Itoa(len(procs)), "GOMAXPROCS=2"}
	c.ExtraFiles = procs
	c.Stderr = os.Stderr
	return c
}

// run runs a task in a group (nil: in none) and returns how it ended.
func run(t *testing.T, task string, g *Group) *os.ProcessState {
	t.Helper()
	var procs []*os.File
	if g != nil {
		procs = g.Procs()
	}
	c := command(task, procs)
	if err := c.Start(); err != nil {
		require.NoError(t, err)
	}
	_ = c.Wait()
	return c.ProcessState
}

func signaled(s *os.ProcessState) bool { return s.Sys().(interface{ Signaled() bool }).Signaled() }
