//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelAttempts use parts of the kernel that a tool has no business with, with arguments that mean something.
func kernelAttempts() map[string]try {
	return map[string]try{
		"bpf-map":     bpfMap,
		"bpf-program": bpfProgram,
		"perf-open":   perfOpen,
		"io-uring":    ioUring,
		"userfaultfd": userfault,
		"handle-open": openByHandle,
		"personality": personality,
		"inotify":     inotify,
		"fanotify":    fanotify,
		"dnotify":     directoryNotify,
		"aio-setup":   aioSetup,
		"swap-on":     swapOn,
		"clock-set":   clockSet,
		"hostname":    func([]string) (bool, string) { return worked(unix.Sethostname([]byte("escaped"))) },
		"kernel-log":  func([]string) (bool, string) { _, err := unix.Klogctl(3, make([]byte, 64)); return worked(err) },
		"nice-up":     func([]string) (bool, string) { return worked(unix.Setpriority(unix.PRIO_PROCESS, 0, -5)) },
		"realtime":    realtime,
		"rlimit-up":   raiseLimit,
		"set-uid-0":   func([]string) (bool, string) { return worked(errors.Join(unix.Setresuid(0, 0, 0), uidIsZero())) },
		"set-groups":  func([]string) (bool, string) { return worked(unix.Setgroups([]int{0})) },
	}
}

func uidIsZero() error {
	if os.Geteuid() != 0 {
		return errors.New("still an ordinary user")
	}
	return nil
}

func bpfMap([]string) (bool, string) {
	attr := [4]uint32{2 /* BPF_MAP_TYPE_ARRAY */, 4, 4, 1}
	_, _, errno := unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return errno == 0, errno.Error()
}

// bpfProgram loads "return 0" as a socket filter.
func bpfProgram([]string) (bool, string) {
	code := [2]uint64{0xb7, 0x95} // r0 = 0; exit
	license := append([]byte("GPL"), 0)
	attr := struct {
		kind, count   uint32
		code, license uint64
		_             [24]byte
	}{1, 2, uint64(uintptr(unsafe.Pointer(&code))), uint64(uintptr(unsafe.Pointer(&license[0]))), [24]byte{}}
	_, _, errno := unix.Syscall(unix.SYS_BPF, 5, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return errno == 0, errno.Error()
}

func perfOpen([]string) (bool, string) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
	attr.Size = uint32(unsafe.Sizeof(attr))
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	return worked(err)
}

func ioUring([]string) (bool, string) {
	var params [120]byte // struct io_uring_params
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	return errno == 0, errno.Error()
}

func userfault([]string) (bool, string) {
	_, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1 /* UFFD_USER_MODE_ONLY */, 0, 0)
	return errno == 0, errno.Error()
}

// openByHandle opens a file by number instead of name, which passes by every directory above it.
func openByHandle(args []string) (bool, string) {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, arg(args, 0), 0)
	if err != nil {
		return worked(fmt.Errorf("name_to_handle_at: %w", err))
	}
	dir, err := unix.Open(arg(args, 0), unix.O_RDONLY, 0)
	if err != nil {
		return worked(err)
	}
	_, err = unix.OpenByHandleAt(dir, h, unix.O_RDONLY)
	return worked(err)
}

func personality([]string) (bool, string) {
	const readImpliesExec = 0x0400000
	_, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, readImpliesExec, 0, 0)
	return errno == 0, errno.Error()
}

// inotify watches args[0].
func inotify(args []string) (bool, string) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return worked(err)
	}
	_, err = unix.InotifyAddWatch(fd, arg(args, 0), unix.IN_ALL_EVENTS)
	return worked(err)
}

func fanotify(args []string) (bool, string) {
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)
	if err != nil {
		return worked(err)
	}
	return worked(unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN, unix.AT_FDCWD, arg(args, 0)))
}

// swapOn makes args[0]/swap a swap file of one page and turns it on; the kernel refuses the content of an empty one, which
// it looks at after the privileges.
func swapOn(args []string) (bool, string) {
	p := arg(args, 0) + "/swap"
	if err := os.WriteFile(p, make([]byte, 8192), 0o600); err != nil {
		return worked(err)
	}
	return reached(raw([]uintptr{unix.SYS_SWAPON, ptr(p), 0}))
}

// clockSet sets the clock from an address without memory: no time that stands there by accident is ever set.
func clockSet([]string) (bool, string) {
	return reached(raw([]uintptr{unix.SYS_CLOCK_SETTIME, 0, minus(1)}))
}

func realtime([]string) (bool, string) {
	param := int32(1)
	_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, 1 /* SCHED_FIFO */, uintptr(unsafe.Pointer(&param)))
	return errno == 0, errno.Error()
}

// raiseLimit takes one open file more than its hard limit allows.
func raiseLimit([]string) (bool, string) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return worked(err)
	}
	l.Max++
	l.Cur = l.Max
	return worked(unix.Setrlimit(unix.RLIMIT_NOFILE, &l))
}

// socketAttempts open sockets that lead out of the sandbox or deep into the kernel.
func socketAttempts() map[string]try {
	open := func(family, kind, proto int) try {
		return func([]string) (bool, string) {
			_, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, proto)
			return worked(err)
		}
	}
	return map[string]try{
		"socket-packet":   open(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"socket-vsock":    open(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"socket-alg":      open(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"socket-mptcp":    open(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP),
		"socket-raw":      open(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"socket-route":    open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE),
		"socket-uevent":   open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		"socket-audit":    open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
		"socket-nflog":    open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER),
		"socket-diag":     open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG),
		"socket-generic":  open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC),
		"socket-families": otherFamilies,
		"net-interfaces":  otherInterfaces,
		"net-connect": func(args []string) (bool, string) {
			c, err := net.DialTimeout(arg(args, 0), arg(args, 1), 2*time.Second)
			if err == nil {
				err = c.Close()
			}
			return worked(err)
		},
	}
}

// otherFamilies tries every family and type but those that a sandbox has a use for.
func otherFamilies([]string) (bool, string) {
	var opened []string
	for family := range 46 {
		if slices.Contains([]int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}, family) {
			continue
		}
		for kind := 1; kind <= 6; kind++ {
			if fd, err := unix.Socket(family, kind, 0); err == nil {
				_ = unix.Close(fd)
				opened = append(opened, fmt.Sprintf("family %d type %d", family, kind))
			}
		}
	}
	return len(opened) > 0, fmt.Sprint("opened: ", opened)
}

// otherInterfaces looks for a network interface that is not the loopback.
func otherInterfaces([]string) (bool, string) {
	data, err := os.ReadFile("/proc/net/dev") // the two first lines are its head (proc_pid_net(5))
	if err != nil {
		return worked(err)
	}
	var others []string
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "lo" {
			others = append(others, strings.TrimSpace(name))
		}
	}
	return len(others) > 0, fmt.Sprint("interfaces: ", others)
}

// dnAccess is DN_ACCESS, the flag of F_NOTIFY for reads (fcntl(2)).
const dnAccess = 1

// directoryNotify asks for signals about accesses in a directory: inotify's older form.
func directoryNotify(args []string) (bool, string) {
	fd, err := unix.Open(arg(args, 0), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return worked(err)
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_NOTIFY, dnAccess)
	return worked(err)
}

// aioSetup takes one event of those that the whole machine has (fs.aio-max-nr).
func aioSetup([]string) (bool, string) {
	var context uintptr
	_, _, errno := unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&context)), 0)
	if errno != 0 {
		return worked(errno)
	}
	_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, context, 0, 0)
	return true, ""
}
