//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// secretVariable is in the caller's environment.
const secretVariable = "TOOLCELL_VERDICT_SECRET"

// hostAttempts concern the machine and what else runs on it.
func hostAttempts() []attempt {
	return []attempt{
		{"see a process of the host", func(t target) error { return contains(fmt.Sprintf("/proc/%d/cmdline", t.victim), t.mark) }},
		{"signal a process of the host", signalVictim},
		{"trace a process of the host", trace},
		{"attach shared memory of the host", func(t target) error {
			_, err := unix.SysvShmGet(t.segment, 0, 0)
			return err
		}},
		{"reach a service on the host's loopback", func(t target) error { return reach("tcp", "127.0.0.1:"+t.port) }},
		{"reach an abstract socket of the host", func(t target) error { return reach("unix", "@"+t.socket) }},
		{"see the caller's environment", func(target) error {
			if os.Getenv(secretVariable) == "" {
				return errors.New("it is not set")
			}
			return nil
		}},
		{"write a setting of the kernel", func(target) error {
			f, err := os.OpenFile("/proc/sys/kernel/printk", os.O_WRONLY, 0)
			if err == nil {
				err = f.Close()
			}
			return err
		}},
		{"read the kernel's log", func(target) error {
			const readAll = 3 // syslog(2), SYSLOG_ACTION_READ_ALL
			_, err := unix.Klogctl(readAll, make([]byte, 1024))
			return err
		}},
	}
}

// signalVictim sends signal 0. A process of that number may be another one, if it is in view.
func signalVictim(t target) error {
	if err := unix.Kill(t.victim, 0); err != nil {
		return err
	}
	return contains(fmt.Sprintf("/proc/%d/cmdline", t.victim), t.mark)
}

func trace(t target) error {
	runtime.LockOSThread()
	if err := unix.PtraceSeize(t.victim); err != nil {
		return err
	}
	return contains(fmt.Sprintf("/proc/%d/cmdline", t.victim), t.mark)
}

func reach(network, address string) error {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// selfAttempts concern what a program may do to itself.
func selfAttempts() []attempt {
	return []attempt{
		{"become root", func(target) error { return unix.Setresuid(0, 0, 0) }},
		{"make a user namespace", func(target) error {
			cmd := exec.Command("/proc/self/exe", "wait")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return cmd.Run()
		}},
		{"add a key to a keyring", func(target) error {
			_, err := unix.AddKey("user", "verdict", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		}},
		{"start more processes than allowed", func(target) error { return processes(60) }},
		{"start some processes", func(target) error { return processes(3) }},
		{"talk to itself over the loopback", loopback},
	}
}

// loopback is a whole exchange over TCP.
func loopback(target) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	c, err := net.DialTimeout("tcp", l.Addr().String(), 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(c); err != nil {
		return err
	}
	if buf.String() != "hello" {
		return fmt.Errorf("it says %q", buf.String())
	}
	return nil
}

// processes has n more processes at the same time.
func processes(n int) error {
	var pids []int
	defer func() {
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL) // it is there until it is waited for
		}
		for _, pid := range pids {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}()
	for range n {
		pid, err := fork()
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	return nil
}

// fork makes a process that waits to be killed. It has no runtime: all it does is one system call after the other.
//
//go:norace
func fork() (int, error) {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if pid == 0 {
		for {
			_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return int(pid), nil
}
