// Package confine compiles what a call needs into its plan: the list of system calls by which a freshly forked
// process confines itself, in an order in which each can still be made and nothing after it undoes it.
//
//	cgroups → identity → what is inherited → private mounts → root → /dev, /proc, scratch → declared mounts → pivot →
//	loopback, hostname → capabilities → no_new_privs → working directory → Landlock → descriptors closed → limits →
//	seccomp → the program
//
// Everything that depends on the host is decided before, in [Spec]; the same Spec gives the same plan.
//
// # Limitations
//
// The plan confines with the kernel's own means and is worth what they are. It does not hide that a sandbox is one.
package confine

import (
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
)

// Spec is one call but for its program, with everything about the host already found out.
type Spec struct {
	// Kernel is what the running kernel can.
	Kernel Kernel
	// Identity is who the program is inside.
	Identity rootfs.Identity
	// DropGroups says that supplementary groups can be dropped: the caller is root.
	DropGroups bool
	// Prepared says that the process starts in a copy of the prepared [Root]. Every mount then comes as a descriptor.
	Prepared bool
	// Spare says that the process starts in namespaces for the network, System V IPC and the machine's name that nobody has
	// used, with loopback up and Hostname set.
	Spare bool
	// Image is the root. It is shared and never changed.
	Image *rootfs.Image
	// Mounts are the declared mounts, sorted by target.
	Mounts []Mount
	// Scratch are the writable tmpfs.
	Scratch Scratch
	// Limits are the rlimits.
	Limits Limits
	// Hostname is the name of the machine inside.
	Hostname string
	// Dir is the working directory.
	Dir string
	// Seccomp is the filter, an array of struct sock_filter.
	Seccomp []byte
	// FDs says where the call's descriptors are.
	FDs FDs
	// Armed says that the program is not known yet: the plan waits for it, confined, and takes the streams with it. FDs
	// has none then but for a Stdin that is not 0 when the program will have an input.
	Armed bool
	// Direct says that no spawner has prepared the process: it comes from its caller. Ignored are the signals that the
	// caller ignores.
	Direct  bool
	Ignored []int
}

// Kernel is what the running kernel can, found out by trying.
type Kernel struct {
	// NewMountAPI: fsopen, open_tree, move_mount and mount_setattr (Linux 5.12).
	NewMountAPI bool
	// Landlock is the version, with its errata applied; 0 is none.
	Landlock int
	// LastCap is the highest capability's number.
	LastCap int
	// CPUs is the size of the affinity mask.
	CPUs int
	// MaskedDirs, MaskedFiles and ReadonlyProc are the parts of /proc to cover, by their paths.
	MaskedDirs, MaskedFiles, ReadonlyProc []string
}

// Mount is one declared mount. It comes either as a descriptor of a detached tree (FD) that the caller cloned, or as a
// path that the sandbox opens itself and compares with what the caller saw (Source, Dev, Inode).
type Mount struct {
	// FD is the detached tree's descriptor, or 0.
	FD int
	// Source is the path on the host, without symbolic links.
	Source string
	// DevMajor, DevMinor and Inode are what the caller found at Source.
	DevMajor, DevMinor uint32
	Inode              uint64
	// Target is the path inside.
	Target string
	// File says that Source is a regular file.
	File bool
	// Writable, Exec and Recursive are as in sandbox.Mount.
	Writable, Exec, Recursive bool
}

// Scratch is the size of the writable tmpfs.
type Scratch struct {
	// TmpBytes and ShmBytes are the sizes of /tmp and /dev/shm.
	TmpBytes, ShmBytes int64
	// Exec allows programs on them.
	Exec bool
}

// inodes is how many files a scratch of that size may hold: one a page.
func inodes(bytes int64) int64 { return max(64, bytes/4096) }

// Limits are the rlimits of the program that a profile bounds. The others have fixed values.
type Limits struct {
	// OpenFiles is RLIMIT_NOFILE, FileBytes RLIMIT_FSIZE.
	OpenFiles, FileBytes uint64
	// CPUSeconds is RLIMIT_CPU; 0 leaves it to the cgroup's clock.
	CPUSeconds uint64
	// Hard are the caller's own hard limits by resource, which nobody but root can raise. A lower one is kept.
	Hard map[int]uint64
}

// Bounded are the resources whose rlimits a plan sets.
func Bounded() []int {
	var out []int
	for _, r := range rlimits(Limits{}) {
		out = append(out, r.resource)
	}
	return out
}

// HookFD is where a program that is started ahead of its call finds the descriptor by which the call comes.
const HookFD = plan.PlanFD

// FDs says where the plan finds the call's descriptors.
type FDs struct {
	// Cgroups are the opened files by which init joins the call's cgroup: cgroup.procs of v2, tasks of v1.
	Cgroups []int
	// Stdin, Stdout and Stderr are the program's streams. A Stdin of 0 means an empty one. See Spec.Armed.
	Stdin, Stdout, Stderr int
	// MemfdNoexec, unless it is 0, is the open sysctl vm.memfd_noexec.
	MemfdNoexec int
	// Hook, unless it is 0, is passed on to the program, which finds it at [HookFD].
	Hook int
}
