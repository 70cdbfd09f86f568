//go:build linux

// Command probe is what the conformance suite runs inside a sandbox: one static program that needs nothing of the image.
// Each of its subcommands looks at one thing and prints what it saw, mostly as JSON; it judges nothing.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// probes maps a subcommand to its code. An error becomes a line on stderr and exit code 9.
func probes() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"args":     func(args []string) error { return show(args) },
		"environ":  func([]string) error { return show(os.Environ()) },
		"exit":     exit,
		"hang":     func([]string) error { fmt.Println("hanging"); time.Sleep(time.Hour); return nil },
		"fds":      fds,
		"files":    files,
		"forks":    forks,
		"ids":      ids,
		"status":   status,
		"rlimits":  rlimits,
		"process":  process,
		"spin":     spin,
		"alloc":    alloc,
		"fill":     fill,
		"inodes":   inodes,
		"sum":      sum,
		"loopback": loopback,
		"devices":  devices,
		"zombies":  zombies,
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: probe NAME [ARG...]")
		os.Exit(9)
	}
	run, ok := probes()[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "probe: no probe %q\n", os.Args[1])
		os.Exit(9)
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "probe %s: %v\n", os.Args[1], err)
		os.Exit(9)
	}
}

// show prints v as one line of JSON.
func show(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// exit ends with the given code.
func exit(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	os.Exit(n)
	return nil
}

// status prints the fields of /proc/self/status.
func status([]string) error {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			fields[k] = strings.TrimSpace(v)
		}
	}
	return show(fields)
}

// fds prints the open descriptors and what each of them is, without the one that lists them.
func fds([]string) error {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	open := map[string]string{}
	for _, n := range names {
		if n == strconv.Itoa(int(dir.Fd())) {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + n)
		if err != nil || ofRuntime(target) {
			continue
		}
		open[n] = target
	}
	return show(open)
}

// ofRuntime reports whether the Go runtime itself opened target: its poller, and the files that bound GOMAXPROCS.
func ofRuntime(target string) bool {
	return strings.HasPrefix(target, "anon_inode:[event") ||
		strings.HasPrefix(target, "/sys/fs/cgroup/") && strings.HasPrefix(filepath.Base(target), "cpu.")
}

// files prints, for each path, its size and first bytes, or the error in one word.
func files(paths []string) error {
	seen := map[string]string{}
	for _, p := range paths {
		seen[p] = readable(p)
	}
	return show(seen)
}

// readable says whether p has content that can be read: "content", "empty" or "denied".
func readable(p string) string {
	if entries, err := os.ReadDir(p); err == nil {
		if len(entries) == 0 {
			return "empty"
		}
		return "content"
	}
	f, err := os.Open(p)
	if err != nil {
		return "denied"
	}
	defer f.Close()
	n, err := f.Read(make([]byte, 1))
	switch {
	case n > 0:
		return "content"
	case errors.Is(err, io.EOF):
		return "empty"
	default:
		return "denied"
	}
}
