package docker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// required is the backend's own required set: every guarantee but Landlock, which engines do not have, the second lock on
// host sockets, and what the profile or the operator gives up by name.
func required(p sandbox.ContainerProfile) []sandbox.Guarantee {
	var out []sandbox.Guarantee
	for _, g := range sandbox.Guarantees() {
		switch {
		case g == sandbox.IPCNoHostSockets, g == sandbox.KernelLandlock:
		case g == sandbox.FSNoexecScratch && p.ScratchExec:
		case g == sandbox.NetNone && p.Network != sandbox.NetworkNone: // granted in the configuration, or refused before
		default:
			out = append(out, g)
		}
	}
	return out
}

// report says what a call with p would enforce on this engine.
func (b *Backend) report(p sandbox.ContainerProfile, e *engine) sandbox.Report {
	entries := append(b.always(p, e), limits(p, e)...)
	entries = append(entries, networkEntry(p), scratchEntry(p, e), socketEntry(p), seccompEntry(p, e),
		absent(sandbox.KernelLandlock, "container engines do not apply Landlock", "use the native backend"))
	byName := make(map[sandbox.Guarantee]sandbox.Enforcement, len(entries))
	for _, x := range entries {
		byName[x.Guarantee] = x
	}
	var r sandbox.Report
	for _, g := range sandbox.Guarantees() {
		r = append(r, byName[g])
	}
	return r.WithWaivers(b.config.Waivers)
}

func enforced(g sandbox.Guarantee, format string, args ...any) sandbox.Enforcement {
	return sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: fmt.Sprintf(format, args...)}
}

func absent(g sandbox.Guarantee, reason, fix string) sandbox.Enforcement {
	return sandbox.Enforcement{Guarantee: g, Reason: reason, Fix: fix}
}

// always are the guarantees of every container that compares as asked for.
func (b *Backend) always(p sandbox.ContainerProfile, e *engine) []sandbox.Enforcement {
	out := []sandbox.Enforcement{
		enforced(sandbox.FSReadonlyRoot, "--read-only"),
		enforced(sandbox.FSDeclaredWrites, "--read-only, --tmpfs, an unprivileged user; an image's volumes are not writable"),
		enforced(sandbox.FSNoHostFiles, "the image's own root; only declared mounts, init and the accounts file"),
		procEntry(p),
		enforced(sandbox.IPCIsolated, "--ipc private, a network namespace, seccomp on keyctl"),
		filesEntry(p, e),
		enforced(sandbox.LimitWall, "init's clock, %s, and the caller's after it", p.Limits.Wall),
		enforced(sandbox.LimitOutput, "capped readers, %d KiB a stream, --log-driver none", p.Limits.OutputKB),
		enforced(sandbox.PrivNoNewPrivileges, "--security-opt no-new-privileges"),
		enforced(sandbox.PrivNoCapabilities, "--cap-drop ALL"),
		enforced(sandbox.EnvFiltered, "an environment made from the image's and the call's, handed to init on its input"),
		enforced(sandbox.LifeNoSurvivors, "init ends with its input, a watchdog on the caller's pipe removes by name, a sweep at the next start"),
		enforced(sandbox.PrivNonroot, "--user, and init refuses to start anything as root"),
	}
	if b.config.User == UserImage && b.waived(sandbox.PrivNonroot) {
		out[len(out)-1] = absent(sandbox.PrivNonroot, "the image's user is kept, and it may be root", `use the user "auto" or uid:gid`)
	}
	return out
}

// procEntry says what the engine leaves in view: which files it masks is its own list, and none of the engines' lists was
// complete.
func procEntry(p sandbox.ContainerProfile) sandbox.Enforcement {
	x := enforced(sandbox.ProcIsolated, "pid and cgroup namespaces, the engine's masks of /proc and /sys")
	if !ownKernel(p.Runtime) {
		x.Reason = "the engine's masks leave figures of the whole machine in view, such as /proc/interrupts, and /sys, read-only"
	}
	return x
}

func filesEntry(p sandbox.ContainerProfile, e *engine) sandbox.Enforcement {
	x := enforced(sandbox.LimitFiles, "--ulimit nofile=%d fsize=%d MiB, --tmpfs size=%d + %d MiB", p.Limits.OpenFiles, p.Limits.FileSizeMB, p.TmpfsMB, p.ShmMB)
	if e.dialect == dialectPodman {
		x.Reason = "podman has no option for the number of files on the scratch: the memory limit, which counts their inodes, bounds it"
		return x
	}
	x.Mechanism += " and nr_inodes"
	return x
}

func limits(p sandbox.ContainerProfile, e *engine) []sandbox.Enforcement {
	fix := "enable the controller for the engine"
	if e.rootless {
		fix = "delegate the cgroup controllers to this user: a drop-in for user@.service with Delegate=cpu cpuset io memory pids, on cgroup v2"
	}
	entry := func(has bool, g sandbox.Guarantee, format string, args ...any) sandbox.Enforcement {
		if !has {
			return absent(g, "the engine has no cgroup controller for it", fix)
		}
		return enforced(g, format, args...)
	}
	out := []sandbox.Enforcement{
		entry(e.pids, sandbox.LimitProcesses, "--pids-limit: %d, and init's own threads", p.PIDs),
		entry(e.memory && e.swap, sandbox.LimitMemory, "--memory and --memory-swap, %d MiB; init ends the whole tree", p.Limits.MemoryMB),
		entry(e.cpu, sandbox.LimitCPU, "--cpus %g", p.Limits.CPUs),
		enforced(sandbox.LimitCPUTime, "the container's CPU time watched by init, %d s; --ulimit cpu", p.Limits.CPUSeconds),
	}
	if out[0].Enforced && ownKernel(p.Runtime) {
		out[0].Reason = fmt.Sprintf("the runtime's own threads count too; %d are added for them", runtimeTasks)
	}
	if e.memory && !e.swap {
		out[1] = absent(sandbox.LimitMemory, "the engine cannot limit swap", "boot with swapaccount=1, or use cgroup v2")
	}
	return out
}

func networkEntry(p sandbox.ContainerProfile) sandbox.Enforcement {
	if p.Network != sandbox.NetworkNone {
		return absent(sandbox.NetNone, fmt.Sprintf("the operator grants the network %q", p.Network), "leave the network out of the profile")
	}
	return enforced(sandbox.NetNone, "--network none")
}

func scratchEntry(p sandbox.ContainerProfile, e *engine) sandbox.Enforcement {
	if p.ScratchExec {
		return absent(sandbox.FSNoexecScratch, "the profile allows programs on the scratch", "leave ScratchExec off")
	}
	x := enforced(sandbox.FSNoexecScratch, "--tmpfs noexec")
	x.Reason = "a memfd, which is memory and no file, can still be executed (vm.memfd_noexec is not the engine's to set)"
	plain := func(m sandbox.Mount) bool { return !m.Exec }
	if e.dialect != dialectPodman && slices.ContainsFunc(p.Binds, plain) {
		x.Reason += "; a program in a declared mount without execution is not started, but its code can be mapped, as bind mounts have no noexec"
	}
	return x
}

func socketEntry(p sandbox.ContainerProfile) sandbox.Enforcement {
	if len(p.Mounts)+len(p.Binds) == 0 {
		return enforced(sandbox.IPCNoHostSockets, "no declared mounts")
	}
	return absent(sandbox.IPCNoHostSockets, "it needs Landlock; a known control socket in a mount's tree is refused", "mount no directory in which a host's service listens")
}

// ownKernel reports whether a runtime brings a kernel of its own, on which the engine's filter is not what confines.
func ownKernel(runtime string) bool {
	return runtime == "runsc" || runtime == "kata" || strings.Contains(runtime, "kata-") || strings.Contains(runtime, ".kata.")
}

func seccompEntry(p sandbox.ContainerProfile, e *engine) sandbox.Enforcement {
	switch {
	case ownKernel(p.Runtime):
		x := enforced(sandbox.KernelSeccomp, "the runtime %s: its own kernel takes the program's system calls", p.Runtime)
		x.Reason = "what the filter forbids may be allowed there, such as namespaces and devices of that kernel's own, and set-user-ID files in a writable mount"
		return x
	case e.seccomp || e.dialect == dialectNerdctl:
		return enforced(sandbox.KernelSeccomp, "this module's profile, --security-opt seccomp")
	default:
		return absent(sandbox.KernelSeccomp, "the engine does not apply system call filters", "use an engine and a kernel with seccomp")
	}
}
