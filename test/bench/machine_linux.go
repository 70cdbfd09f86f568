package main

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// thisMachine says where this runs, as far as that can be read.
func thisMachine() machine {
	m := machine{Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), UID: os.Getuid(), Go: runtime.Version(), CPU: cpuModel(), LoadStart: load()}
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	return m
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// cpuModel is the processor's name; arm64 kernels give none.
func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// availableMiB is how much memory new work may take, or 0 when that cannot be read.
func availableMiB() int {
	var i unix.Sysinfo_t
	if err := unix.Sysinfo(&i); err != nil {
		return 0
	}
	return int((uint64(i.Freeram) + uint64(i.Bufferram)) * uint64(i.Unit) >> 20)
}
