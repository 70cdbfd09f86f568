package main

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// thisMachine says where this runs, as far as that can be read.
func thisMachine() machine {
	m := machine{Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), UID: os.Getuid(), Go: runtime.Version(), CPU: cpuModel(), LoadStart: load()}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		kib, _ := kibibytes(b, "MemTotal:") // 0 when it cannot be read
		m.MemoryMiB = int(kib / 1024)
	}
	m.Virtual = hypervisor()
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

// hypervisor reports whether the processor says that it is a virtual machine's; arm64's says nothing.
func hypervisor() bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "flags" {
			return slices.Contains(strings.Fields(value), "hypervisor")
		}
	}
	return false
}
