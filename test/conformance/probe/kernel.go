//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ids prints the process's user and group ids.
func ids([]string) error {
	var r, e, s int
	r, e, s = unix.Getresuid()
	rg, eg, sg := unix.Getresgid()
	groups, err := unix.Getgroups()
	if err != nil {
		return err
	}
	return show(map[string][]int{"uid": {r, e, s}, "gid": {rg, eg, sg}, "groups": groups})
}

// rlimits prints soft and hard value of every resource limit, by number.
func rlimits([]string) error {
	out := map[string][2]uint64{}
	for res := range 16 {
		var l unix.Rlimit
		if err := unix.Prlimit(0, res, nil, &l); err != nil {
			return fmt.Errorf("prlimit %d: %w", res, err)
		}
		out[strconv.Itoa(res)] = [2]uint64{l.Cur, l.Max}
	}
	return show(out)
}

// process prints what a process inherits from its parent and what its namespaces are called.
func process([]string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	umask := unix.Umask(0)
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the raw call answers 20 - nice
	if err != nil {
		return err
	}
	pids, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	return show(map[string]string{
		"cwd": cwd, "hostname": host, "umask": fmt.Sprintf("%04o", umask), "nice": strconv.Itoa(20 - nice),
		"pid": strconv.Itoa(os.Getpid()), "ppid": strconv.Itoa(os.Getppid()), "processes": strconv.Itoa(len(pids)),
		"oom_score_adj": trimmed("/proc/self/oom_score_adj"), "cgroup": trimmed("/proc/self/cgroup"),
		"sid": strconv.Itoa(sid()),
	})
}

func sid() int {
	n, err := unix.Getsid(0)
	if err != nil {
		return -1
	}
	return n
}

func trimmed(p string) string {
	b, err := os.ReadFile(p)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// loopback sends one byte through TCP over IPv4 and IPv6, UDP, and Unix sockets by path and by abstract name, and prints
// what failed.
func loopback(args []string) error {
	dir := "/tmp"
	if len(args) > 0 {
		dir = args[0]
	}
	failed := map[string]string{}
	for _, c := range [][2]string{
		{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"unix", dir + "/probe.sock"}, {"unix", "@probe"},
	} {
		if err := echo(c[0], c[1]); err != nil {
			failed[c[0]+" "+c[1]] = err.Error()
		}
	}
	return show(failed)
}

// echo connects to a listener of its own and sends one byte.
func echo(network, address string) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	sent := make(chan error, 1)
	go func() {
		c, err := net.Dial(network, l.Addr().String())
		if err == nil {
			_, err = c.Write([]byte("x"))
			c.Close()
		}
		sent <- err
	}()
	if err := <-sent; err != nil {
		return err
	}
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}

// devices tries each device that a program may count on and prints what failed.
func devices([]string) error {
	failed := map[string]string{}
	for name, try := range map[string]func() error{
		"null":    func() error { return os.WriteFile("/dev/null", []byte("x"), 0) },
		"zero":    func() error { return reads("/dev/zero") },
		"random":  func() error { return reads("/dev/random") },
		"urandom": func() error { return reads("/dev/urandom") },
		"full":    full,
		"shm":     func() error { return os.WriteFile("/dev/shm/probe", []byte("x"), 0o600) },
		"stdout":  func() error { return appends("/dev/stdout") },
		"stderr":  func() error { return appends("/dev/stderr") },
		"fd":      func() error { _, err := os.Stat("/dev/fd/0"); return err },
		"stdin":   func() error { f, err := os.Open("/dev/stdin"); f.Close(); return err },
	} {
		if err := try(); err != nil {
			failed[name] = err.Error()
		}
	}
	return show(failed)
}

func reads(p string) error {
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 4))
	return err
}

// full wants ENOSPC.
func full() error {
	if err := os.WriteFile("/dev/full", []byte("x"), 0); err == nil {
		return fmt.Errorf("a write succeeded")
	}
	return nil
}

func appends(p string) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
