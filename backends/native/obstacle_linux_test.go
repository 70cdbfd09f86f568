package native_test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// obstacles are what a helper does to itself before it opens a backend.
func obstacles() map[string]func() error {
	return map[string]func() error{
		"no user namespaces":         noUserNamespaces,
		"docker's filter":            func() error { return filter(dockerRules()...) },
		"no clone3":                  func() error { return filter(deny(unix.SYS_CLONE3, unix.ENOSYS)) },
		"no landlock, ENOSYS":        func() error { return filter(landlockRules(unix.ENOSYS)...) },
		"no landlock, EPERM":         func() error { return filter(landlockRules(unix.EPERM)...) },
		"no seccomp, ENOSYS":         func() error { return filter(seccompRules(unix.ENOSYS)...) },
		"no seccomp, EPERM":          func() error { return filter(seccompRules(unix.EPERM)...) },
		"no new mount API, ENOSYS":   func() error { return filter(mountRules(unix.ENOSYS)...) },
		"no new mount API, EPERM":    func() error { return filter(mountRules(unix.EPERM)...) },
		"no setns, EPERM":            func() error { return filter(deny(unix.SYS_SETNS, unix.EPERM)) },
		"masked proc":                maskProc,
		"read-only cgroups":          readOnlyCgroups,
		"no cgroups":                 noCgroups,
		"read-only /run":             readOnlyRun,
		"chroot":                     chroot,
		"few open files":             func() error { return limitFiles(24) },
		"no standard descriptors":    closeStandard,
		"200 inheritable files":      inheritableFiles,
		"SIGHUP ignored":             func() error { signal.Ignore(syscall.SIGHUP); return nil },
		"SIGPIPE ignored":            func() error { signal.Ignore(syscall.SIGPIPE); return nil },
		"SIGCHLD ignored":            func() error { signal.Ignore(syscall.SIGCHLD); return nil },
		"umask 077":                  func() error { unix.Umask(0o077); return nil },
		"nice 10":                    func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 10) },
		"one CPU":                    oneCPU,
		"a working directory gone":   deletedDirectory,
		"TMPDIR unset":               func() error { return os.Unsetenv("TMPDIR") },
		"HOME unset":                 func() error { return os.Unsetenv("HOME") },
		"a supplementary group":      func() error { return syscall.Setgroups([]int{user + 1}) },
		"new mount namespace":        privateMounts,
		"signals blocked by parents": blockSignals,
	}
}

// rule makes a filter answer a system call with an errno, when bits of an argument are set if any are given.
type rule struct {
	call, errno uint32
	arg         uint32
	bits        uint32
	// exact wants the argument to be bits.
	exact bool
}

func deny(call int, errno unix.Errno) rule { return rule{call: uint32(call), errno: uint32(errno)} }

func denyFlags(call int, errno unix.Errno, arg, bits uint32) rule {
	return rule{call: uint32(call), errno: uint32(errno), arg: arg, bits: bits}
}

// dockerRules are what docker's default profile does about namespaces without CAP_SYS_ADMIN.
func dockerRules() []rule {
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	return []rule{
		denyFlags(unix.SYS_CLONE, unix.EPERM, 0, namespaces), deny(unix.SYS_CLONE3, unix.ENOSYS),
		deny(unix.SYS_UNSHARE, unix.EPERM), deny(unix.SYS_SETNS, unix.EPERM), deny(unix.SYS_MOUNT, unix.EPERM),
	}
}

func landlockRules(errno unix.Errno) []rule {
	return []rule{
		deny(unix.SYS_LANDLOCK_CREATE_RULESET, errno), deny(unix.SYS_LANDLOCK_ADD_RULE, errno),
		deny(unix.SYS_LANDLOCK_RESTRICT_SELF, errno),
	}
}

func seccompRules(errno unix.Errno) []rule {
	byPrctl := denyFlags(unix.SYS_PRCTL, errno, 0, unix.PR_SET_SECCOMP)
	byPrctl.exact = true
	return []rule{deny(unix.SYS_SECCOMP, errno), byPrctl}
}

func mountRules(errno unix.Errno) []rule {
	var out []rule
	for _, call := range []int{
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
		unix.SYS_MOUNT_SETATTR,
	} {
		out = append(out, deny(call, errno))
	}
	return out
}

// filter installs the rules in every thread. It needs no no_new_privs, since the helper has CAP_SYS_ADMIN.
func filter(rules ...rule) error {
	// struct seccomp_data (seccomp(2)): the number at 0, the arguments from 16, 8 bytes each.
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, r := range rules {
		answer := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | r.errno}
		if r.bits == 0 {
			prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.call, Jf: 1}, answer)
			continue
		}
		test := uint16(unix.BPF_JSET)
		if r.exact {
			test = unix.BPF_JEQ
		}
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.call, Jf: 4},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16 + 8*r.arg},
			unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: r.bits, Jf: 1}, answer,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return errno
	}
	return nil
}

// noUserNamespaces limits the helper's own user namespace, and refuses to touch the host's.
func noUserNamespaces() error {
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return err
	}
	if f := strings.Fields(string(data)); len(f) == 3 && f[2] == "4294967295" && sameNamespaceAsParent("user") {
		return fmt.Errorf("this is the host's user namespace")
	}
	return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
}

func sameNamespaceAsParent(name string) bool {
	own, err := os.Readlink("/proc/self/ns/" + name)
	if err != nil {
		return true
	}
	parent, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", os.Getppid(), name))
	return err == nil && own == parent
}

// privateMounts keeps what follows away from the host.
func privateMounts() error {
	if sameNamespaceAsParent("mnt") {
		return fmt.Errorf("this is the host's mount namespace")
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// maskProc covers a file of /proc as a container engine does.
func maskProc() error {
	if err := privateMounts(); err != nil {
		return err
	}
	return unix.Mount("/dev/null", "/proc/version", "", unix.MS_BIND, "")
}

// cgroupMounts lists the mounts of both versions, the deepest last.
func cgroupMounts() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		before, after, ok := strings.Cut(line, " - ")
		if f := strings.Fields(before); ok && strings.HasPrefix(after, "cgroup") {
			out = append(out, f[4])
		}
	}
	return out, nil
}

func eachCgroup(do func(string) error) error {
	if err := privateMounts(); err != nil {
		return err
	}
	mounts, err := cgroupMounts()
	if err != nil {
		return err
	}
	if len(mounts) == 0 {
		return fmt.Errorf("no cgroups are mounted")
	}
	for _, m := range mounts {
		if err := do(m); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	return nil
}

func readOnlyCgroups() error {
	return eachCgroup(func(path string) error {
		return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	})
}

func noCgroups() error {
	return eachCgroup(func(path string) error { return unix.Unmount(path, unix.MNT_DETACH) })
}

func readOnlyRun() error {
	if err := privateMounts(); err != nil {
		return err
	}
	return unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_RDONLY, "")
}

// chroot makes a copy of the mounts the helper's root.
func chroot() error {
	if err := privateMounts(); err != nil {
		return err
	}
	if err := unix.Mount("/", "/mnt", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Chroot("/mnt"); err != nil {
		return err
	}
	return unix.Chdir("/")
}

func limitFiles(n uint64) error {
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n})
}

func closeStandard() error {
	for fd := range 3 {
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

func inheritableFiles() error {
	for i := range 200 {
		name := []string{"/", "/etc/passwd"}[i%2]
		if _, err := unix.Open(name, unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}

func oneCPU() error {
	var set unix.CPUSet
	set.Set(0)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		var tid int
		if _, err := fmt.Sscan(task.Name(), &tid); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
	}
	return nil
}

func deletedDirectory() error {
	dir, err := os.MkdirTemp("", "toolcell-gone-")
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Clean(dir)); err != nil {
		return err
	}
	if _, err := os.Getwd(); err == nil {
		return fmt.Errorf("the working directory is still there")
	}
	return nil
}

// blockSignals blocks what a parent may have blocked. It is inherited through execve(2).
func blockSignals() error {
	var set unix.Sigset_t
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGALRM, syscall.SIGUSR1} {
		set.Val[0] |= 1 << (uint(sig) - 1)
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
}
