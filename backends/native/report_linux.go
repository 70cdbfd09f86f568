package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// reportKey is everything that a report depends on and that can differ from call to call: the profile's part in it, and what the
// host can do just now. Whoever writes a line gets this and no profile, so that reports of equal ones are equal.
type reportKey struct {
	limits               sandbox.Limits
	pids, tmpfsMB, shmMB int
	scratchExec, mounts  bool
	mountOnScratch       bool // which only matters from socketVersion on

	landlock               int
	noSeccomp, noLandlock  string // why, if so
	noexecMemfds, noCores  bool
	processes, memory, cpu problem
	cpuTime                problem
}

// problem is why a limit cannot be set, and what would help. The zero value is that it can.
type problem struct{ cause, fix string }

// reports keeps those that were computed. Their text is more work than anything else that is done before most calls.
type reports struct {
	mu   sync.Mutex
	list recent[keptReport]
}

type keptReport struct {
	key    reportKey
	report sandbox.Report
}

// maxReports bounds them. Where the mounts of a single call come from is no part of a report.
const maxReports = 64

// get returns a copy of the report of a key.
func (c *reports) get(key reportKey, compute func(reportKey) sandbox.Report) sandbox.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.list.find(func(r keptReport) bool { return r.key == key })
	if !ok {
		kept = keptReport{key, compute(key)}
		c.list.add(kept, maxReports)
	}
	return slices.Clone(kept.report)
}

// report says what a call with p would enforce. It is computed before anything runs, and every step of the plan that
// keeps one of its lines ends the call when it fails.
func (b *Backend) report(p sandbox.ContainerProfile) (sandbox.Report, confine.Kernel, error) {
	k, err := b.kernel.get()
	if err != nil {
		return nil, k, err
	}
	if b.cgroups != nil {
		b.cgroups.Expect(cgroupLimits(p))
	}
	return b.reports.get(b.reportKey(p, k), b.compute), k, nil
}

// reportKey collects what the report of a profile depends on.
func (b *Backend) reportKey(p sandbox.ContainerProfile, k confine.Kernel) reportKey {
	j := reportKey{
		limits: p.Limits, pids: p.PIDs, tmpfsMB: p.TmpfsMB, shmMB: p.ShmMB,
		scratchExec: p.ScratchExec, mounts: len(p.Mounts)+len(p.Binds) > 0, mountOnScratch: k.Landlock >= socketVersion && onScratch(p),
		landlock: k.Landlock, noexecMemfds: b.noexecMemfds(),
		processes: b.problem(cgroup.PIDs), memory: b.problem(cgroup.Memory), cpu: b.problem(cgroup.CPU), cpuTime: b.problem(cgroup.CPUAcct),
	}
	if err := seccomp.Supported(); err != nil {
		j.noSeccomp = err.Error()
	}
	// What the plan will do decides, so k does; asking again only finds out why there is none.
	if k.Landlock == 0 {
		j.noLandlock = "it was not there a moment ago"
		if _, err := probe.Landlock(); err != nil {
			j.noLandlock = err.Error()
		}
	}
	hard, err := b.hard.get()
	j.noCores = err == nil && hard[unix.RLIMIT_CORE] == 0
	return j
}

// problem is what keeps a controller from limiting anything.
func (b *Backend) problem(controller string) problem {
	err := b.controller(controller)
	if err == nil {
		return problem{}
	}
	return problem{cause: err.Error(), fix: cgroupFix(err)}
}

func (b *Backend) compute(j reportKey) sandbox.Report {
	entries := append(b.always(j), b.limits(j)...)
	entries = append(entries, kernelEntries(j)...)
	entries = append(entries, scratchEntry(j), socketEntry(j), b.identityEntry())
	byName := make(map[sandbox.Guarantee]sandbox.Enforcement, len(entries))
	for _, e := range entries {
		byName[e.Guarantee] = e
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
func (b *Backend) always(j reportKey) []sandbox.Enforcement {
	return []sandbox.Enforcement{
		enforced(sandbox.FSReadonlyRoot, "private tmpfs root, read-only binds, Landlock"),
		enforced(sandbox.FSDeclaredWrites, "mount flags, Landlock"),
		enforced(sandbox.FSNoHostFiles, "mount namespace, pivot_root, the host's tree detached"),
		enforced(sandbox.NetNone, "empty network namespace with a loopback"),
		enforced(sandbox.ProcIsolated, "pid and cgroup namespaces, fresh masked /proc, no /sys"),
		enforced(sandbox.IPCIsolated, "ipc and network namespaces, own session keyring, seccomp on keyctl, Landlock scopes"),
		filesEntry(j),
		enforced(sandbox.LimitWall, "%s's clock, %s", b.watcher(), j.limits.Wall),
		enforced(sandbox.LimitOutput, "capped readers, %d KiB a stream", j.limits.OutputKB),
		enforced(sandbox.PrivNoNewPrivileges, "no_new_privs, every mount nosuid"),
		enforced(sandbox.PrivNoCapabilities, "empty capability and bounding sets, securebits locked"),
		enforced(sandbox.EnvFiltered, "an environment made from nothing"),
		b.lifeEntry(),
	}
}

func filesEntry(j reportKey) sandbox.Enforcement {
	e := enforced(sandbox.LimitFiles, "RLIMIT_NOFILE = %d, RLIMIT_FSIZE = %d MiB, tmpfs size %d + %d MiB and nr_inodes",
		j.limits.OpenFiles, j.limits.FileSizeMB, j.tmpfsMB, j.shmMB)
	if j.noCores {
		e.Reason = "the caller's hard limit on core files is 0: a crash still starts the host's core handler, if core_pattern names one"
	}
	return e
}

// limits are the guarantees that need a cgroup, each found by setting one.
func (b *Backend) limits(j reportKey) []sandbox.Enforcement {
	entry := func(g sandbox.Guarantee, controller string, why problem, value string) sandbox.Enforcement {
		if why != (problem{}) {
			return absent(g, why.cause, why.fix)
		}
		return enforced(g, "%s: %s", b.cgroups.Mechanism(controller), value)
	}
	return []sandbox.Enforcement{
		entry(sandbox.LimitProcesses, cgroup.PIDs, j.processes, fmt.Sprint(j.pids)),
		entry(sandbox.LimitMemory, cgroup.Memory, j.memory, fmt.Sprintf("%d MiB", j.limits.MemoryMB)),
		entry(sandbox.LimitCPU, cgroup.CPU, j.cpu, fmt.Sprintf("%g cores", j.limits.CPUs)),
		b.cpuTimeEntry(j),
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

func (b *Backend) cpuTimeEntry(j reportKey) sandbox.Enforcement {
	if j.cpuTime == (problem{}) {
		return enforced(sandbox.LimitCPUTime, "%s watched by %s, %d s", b.cgroups.Mechanism(cgroup.CPUAcct), b.watcher(), j.limits.CPUSeconds)
	}
	e := enforced(sandbox.LimitCPUTime, "the process tree's times watched by %s and RLIMIT_CPU, %d s", b.watcher(), j.limits.CPUSeconds)
	e.Reason = "without a cgroup, children that nobody waits for are counted only while they live; the deadline bounds them"
	return e
}

// kernelEntries are the layers that an outer filter may hide.
func kernelEntries(j reportKey) []sandbox.Enforcement {
	out := []sandbox.Enforcement{enforced(sandbox.KernelSeccomp, "allow-list, last step before the program")}
	if j.noSeccomp != "" {
		out[0] = absent(sandbox.KernelSeccomp, j.noSeccomp, "the container or service this runs in filters seccomp(2) away: allow it there")
	}
	if j.landlock == 0 {
		return append(out, absent(sandbox.KernelLandlock, j.noLandlock,
			"enable Landlock (CONFIG_SECURITY_LANDLOCK and landlock in the lsm= list, Linux 5.13), or allow it in the filter of the container this runs in"))
	}
	e := enforced(sandbox.KernelLandlock, "version %d", j.landlock)
	e.Reason = landlockLacks(j.landlock)
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

func scratchEntry(j reportKey) sandbox.Enforcement {
	if j.scratchExec {
		return absent(sandbox.FSNoexecScratch, "the profile allows programs on the scratch", "leave ScratchExec off")
	}
	if !j.noexecMemfds {
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
	line := sandbox.Report{scratchEntry(reportKey{scratchExec: p.ScratchExec, noexecMemfds: b.noexecMemfds()})}.WithWaivers(b.config.Waivers)[0]
	if i := slices.IndexFunc(r, func(e sandbox.Enforcement) bool { return e.Guarantee == line.Guarantee }); i >= 0 {
		r[i] = line
	}
}

// socketVersion is the Landlock version that can forbid connecting to a socket in the file system (RESOLVE_UNIX).
const socketVersion = 9

func socketEntry(j reportKey) sandbox.Enforcement {
	switch {
	case !j.mounts:
		return enforced(sandbox.IPCNoHostSockets, "no declared mounts")
	case j.mountOnScratch:
		return absent(sandbox.IPCNoHostSockets, "a mount's target is on the scratch, where Landlock has to allow the sandbox's own sockets", "mount it elsewhere, such as at /workspace")
	case j.landlock >= socketVersion:
		return enforced(sandbox.IPCNoHostSockets, "Landlock version %d", j.landlock)
	default:
		return absent(sandbox.IPCNoHostSockets, fmt.Sprintf("it needs Landlock version %d, the kernel has %d; a known control socket in a mount's tree is refused", socketVersion, j.landlock),
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
