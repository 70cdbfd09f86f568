package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/cgroup"
	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/probe"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/seccomp"
)

// required is the backend's own required set: every guarantee but the second lock on host
// sockets, and but the one that a profile gives up by name.
func required(p sandbox.ContainerProfile) []sandbox.Guarantee {
	var out []sandbox.Guarantee
	for _, g := range sandbox.Guarantees() {
		switch {
		case g == sandbox.IPCNoHostSockets:
		case g == sandbox.FSNoexecScratch && p.ScratchExec:
		default:
			out = append(out, g)
		}
	}
	return out
}

// report says what a call with p would enforce. It is computed before anything runs, and every step of the plan that
// keeps one of its lines ends the call when it fails.
func (b *Backend) report(p sandbox.ContainerProfile) (sandbox.Report, confine.Kernel, error) {
	k, err := b.kernel.get()
	if err != nil {
		return nil, k, err
	}
	entries := append(b.always(p), b.limits(p)...)
	entries = append(entries, b.kernelEntries(k)...)
	entries = append(entries, b.scratchEntry(p), b.socketEntry(p, k), b.identityEntry())
	byName := make(map[sandbox.Guarantee]sandbox.Enforcement, len(entries))
	for _, e := range entries {
		byName[e.Guarantee] = e
	}
	var r sandbox.Report
	for _, g := range sandbox.Guarantees() {
		r = append(r, byName[g])
	}
	return r.WithWaivers(b.config.Waivers), k, nil
}

func enforced(g sandbox.Guarantee, format string, args ...any) sandbox.Enforcement {
	return sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: fmt.Sprintf(format, args...)}
}

func absent(g sandbox.Guarantee, reason, fix string) sandbox.Enforcement {
	return sandbox.Enforcement{Guarantee: g, Reason: reason, Fix: fix}
}

// watcher is who has the clocks.
func (b *Backend) watcher() string {
	if b.lanes.direct != nil {
		return "this process"
	}
	return "the spawner"
}

// lifeEntry says by what nothing outlives the caller.
func (b *Backend) lifeEntry() sandbox.Enforcement {
	if b.lanes.direct != nil {
		return enforced(sandbox.LifeNoSurvivors, "pid namespace of the sandbox, whose init ends with its caller, and by itself %s after the deadline", lifetimeSlack)
	}
	return enforced(sandbox.LifeNoSurvivors, "pid namespaces of the sandbox and of the spawner, which ends with its caller")
}

// always are the guarantees that need nothing but the namespaces, without which there is no backend.
func (b *Backend) always(p sandbox.ContainerProfile) []sandbox.Enforcement {
	return []sandbox.Enforcement{
		enforced(sandbox.FSReadonlyRoot, "private tmpfs root, read-only binds, Landlock"),
		enforced(sandbox.FSDeclaredWrites, "mount flags, Landlock"),
		enforced(sandbox.FSNoHostFiles, "mount namespace, pivot_root, the host's tree detached"),
		enforced(sandbox.NetNone, "empty network namespace with a loopback"),
		enforced(sandbox.ProcIsolated, "pid and cgroup namespaces, fresh masked /proc, no /sys"),
		enforced(sandbox.IPCIsolated, "ipc and network namespaces, own session keyring, seccomp on keyctl, Landlock scopes"),
		b.filesEntry(p),
		enforced(sandbox.LimitWall, "%s's clock, %s", b.watcher(), p.Limits.Wall),
		enforced(sandbox.LimitOutput, "capped readers, %d KiB a stream", p.Limits.OutputKB),
		enforced(sandbox.PrivNoNewPrivileges, "no_new_privs, every mount nosuid"),
		enforced(sandbox.PrivNoCapabilities, "empty capability and bounding sets, securebits locked"),
		enforced(sandbox.EnvFiltered, "an environment made from nothing"),
		b.lifeEntry(),
	}
}

func (b *Backend) filesEntry(p sandbox.ContainerProfile) sandbox.Enforcement {
	e := enforced(sandbox.LimitFiles, "RLIMIT_NOFILE = %d, RLIMIT_FSIZE = %d MiB, tmpfs size %d + %d MiB and nr_inodes",
		p.Limits.OpenFiles, p.Limits.FileSizeMB, p.TmpfsMB, p.ShmMB)
	if hard, err := b.hard.get(); err == nil && hard[unix.RLIMIT_CORE] == 0 {
		e.Reason = "the caller's hard limit on core files is 0: a crash still starts the host's core handler, if core_pattern names one"
	}
	return e
}

// limits are the guarantees that need a cgroup, each found by setting one.
func (b *Backend) limits(p sandbox.ContainerProfile) []sandbox.Enforcement {
	if b.cgroups != nil {
		b.cgroups.Expect(cgroupLimits(p))
	}
	entry := func(g sandbox.Guarantee, controller string, value string) sandbox.Enforcement {
		if err := b.controller(controller); err != nil {
			return absent(g, err.Error(), cgroupFix(err))
		}
		return enforced(g, "%s: %s", b.cgroups.Mechanism(controller), value)
	}
	return []sandbox.Enforcement{
		entry(sandbox.LimitProcesses, cgroup.PIDs, fmt.Sprint(p.PIDs)),
		entry(sandbox.LimitMemory, cgroup.Memory, fmt.Sprintf("%d MiB", p.Limits.MemoryMB)),
		entry(sandbox.LimitCPU, cgroup.CPU, fmt.Sprintf("%g cores", p.Limits.CPUs)),
		b.cpuTimeEntry(p),
	}
}

func (b *Backend) controller(name string) error {
	if b.cgroups == nil {
		return b.cgroupErr
	}
	return b.cgroups.Controller(name)
}

func cgroupFix(err error) string {
	var e *cgroup.Error
	if errors.As(err, &e) {
		return e.Fix
	}
	return ""
}

func (b *Backend) cpuTimeEntry(p sandbox.ContainerProfile) sandbox.Enforcement {
	if b.controller(cgroup.CPUAcct) == nil {
		return enforced(sandbox.LimitCPUTime, "%s watched by %s, %d s", b.cgroups.Mechanism(cgroup.CPUAcct), b.watcher(), p.Limits.CPUSeconds)
	}
	e := enforced(sandbox.LimitCPUTime, "the process tree's times watched by %s and RLIMIT_CPU, %d s", b.watcher(), p.Limits.CPUSeconds)
	e.Reason = "without a cgroup, children that nobody waits for are counted only while they live; the deadline bounds them"
	return e
}

// kernelEntries are the layers that an outer filter may hide.
func (b *Backend) kernelEntries(k confine.Kernel) []sandbox.Enforcement {
	out := []sandbox.Enforcement{enforced(sandbox.KernelSeccomp, "allow-list, last step before the program")}
	if err := seccomp.Supported(); err != nil {
		out[0] = absent(sandbox.KernelSeccomp, err.Error(), "the container or service this runs in filters seccomp(2) away: allow it there")
	}
	// What the plan will do decides, so k does; asking again only finds out why there is none.
	if k.Landlock == 0 {
		reason := "it was not there a moment ago"
		if _, err := probe.Landlock(); err != nil {
			reason = err.Error()
		}
		return append(out, absent(sandbox.KernelLandlock, reason,
			"enable Landlock (CONFIG_SECURITY_LANDLOCK and landlock in the lsm= list, Linux 5.13), or allow it in the filter of the container this runs in"))
	}
	e := enforced(sandbox.KernelLandlock, "version %d", k.Landlock)
	e.Reason = landlockLacks(k.Landlock)
	return append(out, e)
}

// landlockLacks names what a version cannot do that a newer one can. Each is kept by another layer as well.
func landlockLacks(abi int) string {
	switch {
	case abi < 2:
		return "cannot allow renames across directories, so they fail; truncation, device ioctls and scopes are left to mount flags and namespaces"
	case abi < 3:
		return "truncation, device ioctls and scopes are left to mount flags and namespaces"
	case abi < 5:
		return "device ioctls and scopes are left to /dev's few devices and namespaces"
	case abi < 6:
		return "signals and abstract sockets are left to namespaces"
	default:
		return ""
	}
}

func (b *Backend) scratchEntry(p sandbox.ContainerProfile) sandbox.Enforcement {
	if p.ScratchExec {
		return absent(sandbox.FSNoexecScratch, "the profile allows programs on the scratch", "leave ScratchExec off")
	}
	if !b.noexecMemfds() {
		e := enforced(sandbox.FSNoexecScratch, "noexec mounts, Landlock")
		e.Reason = "a memfd, which is memory and no file, can still be executed: only root can switch that off (vm.memfd_noexec, Linux 6.3)"
		return e
	}
	return enforced(sandbox.FSNoexecScratch, "noexec mounts, Landlock, memfds without execute permission (vm.memfd_noexec, seccomp)")
}

// noexecMemfds is what is known so far of the spawners' namespaces, or of a direct call's.
func (b *Backend) noexecMemfds() bool {
	select {
	case <-b.spawnerUp:
		return b.memfdNoexec
	default:
		return false
	}
}

// amend sets the one line of a report that may have been computed before there was a spawner. It says by what the
// guarantee is kept; that it is kept does not change.
func (b *Backend) amend(r sandbox.Report, p sandbox.ContainerProfile) {
	line := sandbox.Report{b.scratchEntry(p)}.WithWaivers(b.config.Waivers)[0]
	if i := slices.IndexFunc(r, func(e sandbox.Enforcement) bool { return e.Guarantee == line.Guarantee }); i >= 0 {
		r[i] = line
	}
}

// socketVersion is the Landlock version that can forbid connecting to a socket in the file system (RESOLVE_UNIX).
const socketVersion = 9

func (b *Backend) socketEntry(p sandbox.ContainerProfile, k confine.Kernel) sandbox.Enforcement {
	switch {
	case len(p.Mounts)+len(p.Binds) == 0:
		return enforced(sandbox.IPCNoHostSockets, "no declared mounts")
	case k.Landlock >= socketVersion && onScratch(p):
		return absent(sandbox.IPCNoHostSockets, "a mount's target is on the scratch, where Landlock has to allow the sandbox's own sockets", "mount it elsewhere, such as at /workspace")
	case k.Landlock >= socketVersion:
		return enforced(sandbox.IPCNoHostSockets, "Landlock version %d", k.Landlock)
	default:
		return absent(sandbox.IPCNoHostSockets, fmt.Sprintf("it needs Landlock version %d, the kernel has %d; a known control socket in a mount's tree is refused", socketVersion, k.Landlock),
			"mount no directory in which a host's service listens")
	}
}

// onScratch reports whether a declared mount lies below /tmp. (Targets in /dev are refused.)
func onScratch(p sandbox.ContainerProfile) bool {
	all, err := p.AllMounts()
	return err != nil || slices.ContainsFunc(all, func(m sandbox.Mount) bool { return strings.HasPrefix(m.Target, "/tmp/") })
}

func (b *Backend) identityEntry() sandbox.Enforcement {
	if b.ids != nil {
		return enforced(sandbox.PrivNonroot, "one uid and gid a sandbox, from host id %d", b.ids.base)
	}
	e := enforced(sandbox.PrivNonroot, "user namespace with the caller's own uid and gid")
	e.Reason = "the caller's other processes share the uid, and its supplementary groups cannot be dropped"
	return e
}
