//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processAttempts get at another process.
func processAttempts() map[string]try {
	return map[string]try{
		"ptrace-child":    onVictim(attach),
		"vm-read-child":   onVictim(func(pid int) error { return foreignMemory(pid, unix.ProcessVMReadv) }),
		"vm-write-child":  onVictim(func(pid int) error { return foreignMemory(pid, unix.ProcessVMWritev) }),
		"pidfd-getfd":     onVictim(stealDescriptor),
		"kcmp-child":      onVictim(func(pid int) error { return compare(os.Getpid(), pid) }),
		"kill-pid":        func(args []string) (bool, string) { return worked(unix.Kill(number(args, 0), unix.SIGKILL)) },
		"kill-pidfd":      killPidfd,
		"ptrace-pid":      func(args []string) (bool, string) { return worked(attach(number(args, 0))) },
		"kill-supervisor": killSupervisor,
		"prlimit-pid": func(args []string) (bool, string) {
			return worked(unix.Prlimit(number(args, 0), unix.RLIMIT_NOFILE, nil, new(unix.Rlimit)))
		},
		"priority-pid": func(args []string) (bool, string) {
			return worked(unix.Setpriority(unix.PRIO_PROCESS, number(args, 0), 19))
		},
		"dumpable-init": func([]string) (bool, string) { return worked(attach(os.Getppid())) },
	}
}

// number returns args[i] as a number, -1 when it is none.
func number(args []string, i int) int {
	n, err := strconv.Atoi(arg(args, i))
	if err != nil {
		return -1
	}
	return n
}

// attach becomes the tracer of pid without stopping it, and lets go again.
func attach(pid int) error {
	runtime.LockOSThread() // tracing is a matter of threads
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	if err := unix.PtraceInterrupt(pid); err != nil {
		return err
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
		return err
	}
	return unix.PtraceDetach(pid)
}

type transfer func(pid int, local []unix.Iovec, remote []unix.RemoteIovec, flags uint) (int, error)

// foreignMemory moves eight bytes between this process and pid.
func foreignMemory(pid int, move transfer) error {
	local := unix.Iovec{Base: &make([]byte, 8)[0]}
	local.SetLen(8)
	at, err := writable(pid)
	if err != nil {
		return err
	}
	_, err = move(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: at, Len: 8}}, 0)
	return err
}

// writable finds the stack of pid.
func writable(pid int) (uintptr, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "[stack]") {
			_, rest, _ := strings.Cut(line, "-")
			end, _, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseUint(end, 16, 64)
			return uintptr(n) - 64, err
		}
	}
	return 0, fmt.Errorf("no stack in the maps of %d", pid)
}

// stealDescriptor takes pid's standard input.
func stealDescriptor(pid int) error {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(p, 0, 0)
	return err
}

// compare asks whether two processes share their descriptors.
func compare(a, b int) error {
	_, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), 2, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func killPidfd(args []string) (bool, string) {
	p, err := unix.PidfdOpen(number(args, 0), 0)
	if err != nil {
		return worked(err)
	}
	return worked(unix.PidfdSendSignal(p, unix.SIGKILL, nil, 0))
}

// killSupervisor sends its parent every signal that could end or stop it. Success is to be an orphan afterwards.
func killSupervisor([]string) (bool, string) {
	parent := os.Getppid()
	for s := syscall.Signal(64); s > 0; s-- {
		_ = unix.Kill(parent, s)
	}
	for range 50 {
		if os.Getppid() != parent {
			return true, "the parent is gone"
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false, "the parent is still there"
}

// procAttempts read and write what /proc shows of others.
func procAttempts() map[string]try {
	read := func(name string) try {
		return func(args []string) (bool, string) { return holds("/proc/"+arg(args, 0)+"/"+name, "") }
	}
	open := func(name string, flags int) try {
		return func(args []string) (bool, string) {
			fd, err := unix.Open("/proc/"+arg(args, 0)+"/"+name, flags|unix.O_CLOEXEC, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return worked(err)
		}
	}
	link := func(name string) try {
		return func(args []string) (bool, string) {
			_, err := os.Readlink("/proc/" + arg(args, 0) + "/" + name)
			return worked(err)
		}
	}
	return map[string]try{
		"proc-environ": read("environ"), "proc-maps": read("maps"), "proc-auxv": read("auxv"), "proc-io": read("io"),
		"proc-mem": open("mem", unix.O_RDWR), "proc-root": open("root", unix.O_RDONLY), "proc-cwd": open("cwd", unix.O_RDONLY),
		"proc-fd": open("fd/0", unix.O_PATH), "proc-fdinfo": read("fdinfo/0"), "proc-exe": link("exe"), "proc-exe-open": open("exe", unix.O_PATH),
		"proc-ns": link("ns/mnt"), "proc-syscall": read("syscall"), "proc-personality": read("personality"),
		"proc-environ-of": func(args []string) (bool, string) { return anyHolds(args[1:], "environ", arg(args, 0)) },
		"proc-cmdline-of": func(args []string) (bool, string) { return seen(arg(args, 0)) },
		"proc-file-of":    func(args []string) (bool, string) { return anyHolds(args[2:], arg(args, 1), arg(args, 0)) },
	}
}

// holds reports whether the file can be read and has text in it, any text when that is "".
func holds(p, text string) (bool, string) {
	b, err := os.ReadFile(p)
	if err != nil {
		return worked(err)
	}
	return len(b) > 0 && strings.Contains(string(b), text), fmt.Sprintf("read %d bytes of %s", len(b), p)
}

// anyHolds looks for text in one file of several processes.
func anyHolds(pids []string, file, text string) (bool, string) {
	last := "no process given"
	for _, pid := range pids {
		ok, detail := holds("/proc/"+pid+"/"+file, text)
		if ok {
			return true, detail
		}
		last = detail
	}
	return false, last
}

// seen looks for a process that has text among its arguments and is not this one.
func seen(text string) (bool, string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return worked(err)
	}
	for _, f := range files {
		if filepath.Base(filepath.Dir(f)) == strconv.Itoa(os.Getpid()) {
			continue
		}
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) && !strings.Contains(string(b), "proc-cmdline-of") {
			return true, f
		}
	}
	return false, fmt.Sprintf("not among %d processes", len(files))
}
