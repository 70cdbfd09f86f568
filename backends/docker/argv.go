package docker

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// container is everything that a container is made from. It is a value: the same one makes the same command line.
type container struct {
	dialect  dialect
	rootless bool
	name     string
	labels   []string // KEY=VALUE
	image    string
	// profile has its defaults spelled out and its mounts resolved, in Binds. User is the flag's value.
	profile sandbox.ContainerProfile
	// helper and seccomp are files of the host; seccomp may be "".
	helper, seccomp string
	// filter is the text of seccomp's file, as short as JSON can be.
	filter string
	// user is the user as the engine will show it.
	user string
	// files are single files of the host that are shown read-only.
	files []sandbox.Mount
	// places are what the declared mounts' targets have to be.
	places []frame.Place
	// volumes are what the image declares as volumes.
	volumes []string
	// local says that the engine sees files where the caller does.
	local bool
	// absent are the guarantees that the operator does without, since the engine cannot keep them.
	absent []sandbox.Guarantee
	// session makes a container that waits for calls.
	session bool
}

// leastFiles is how many descriptors init needs; a lower limit is set for the program alone.
const leastFiles = 64

// cpuSlack is how many seconds of CPU time a single process may use beyond the whole tree's limit, which init keeps; the
// rlimit is a second lock.
const cpuSlack = 2

// engineProfile is the profile as the engine is asked to keep it: with room for init, whose part init takes itself.
func (c container) engineProfile() sandbox.ContainerProfile {
	p := c.profile
	p.PIDs += c.initTasks()
	p.Limits.OpenFiles = max(p.Limits.OpenFiles, leastFiles)
	p.Limits.CPUSeconds += cpuSlack
	if c.session {
		p.Limits.CPUSeconds = 0 // calls have limits of their own
	}
	if c.dialect == dialectNerdctl {
		p.ShmMB = 0 // its option looks for the shared memory of its own making, which --tmpfs has replaced
	}
	p.Workdir = "/" // init enters the real one, since an engine would make a missing one
	p.Mounts, p.Binds, p.Env = nil, nil, []string{"GOMAXPROCS=1"}
	return p
}

// runtimeTasks is room for the threads of a runtime with a kernel of its own, which the host counts with the program's.
const runtimeTasks = 128

// initTasks is how many tasks are not the program's.
func (c container) initTasks() int {
	if ownKernel(c.profile.Runtime) {
		return 2*helper.Tasks + runtimeTasks
	}
	if c.session {
		return 2 * helper.Tasks // the idle process, and the init of a call
	}
	return helper.Tasks
}

// createArgs returns the arguments that create the container and do not start it.
func (c container) createArgs() []string { return c.makeArgs("create") }

// makeArgs returns the arguments of "create", or of "run".
func (c container) makeArgs(verb string) []string {
	arg := helper.ArgCall
	if c.session {
		arg = helper.ArgIdle
	}
	base := c.engineProfile().RunArgs(c.image, arg)
	flags := slices.Clone(base[1 : len(base)-2])
	if i := slices.Index(flags, "--tmpfs"); i >= 0 {
		flags[i+1] = c.tmpfs("/tmp")
	}
	var global []string
	if i := slices.Index(flags, "--runtime"); i >= 0 && c.dialect == dialectPodman {
		global = []string{"--runtime", flags[i+1]}
		flags = slices.Delete(flags, i, i+2)
	}
	flags = slices.Concat(global, []string{verb}, flags, c.common(), c.special())
	for _, m := range c.mounts() {
		flags = append(flags, "--mount", m)
	}
	return append(flags, c.image, arg)
}

// common are the additions that every dialect knows.
func (c container) common() []string {
	out := []string{"--name", c.name}
	for _, l := range c.labels {
		out = append(out, "--label", l)
	}
	out = append(out,
		"--pull", "never", "--entrypoint", helper.InitPath, "--hostname", dockerargs.Hostname,
		"--ipc", "private", "--log-driver", "none",
		"--memory-swap", strconv.Itoa(c.profile.Limits.MemoryMB)+"m",
		"--ulimit", "core=1:1", "--tmpfs", c.tmpfs("/dev/shm"))
	for _, v := range c.covered() {
		out = append(out, "--tmpfs", v+":ro,noexec,nosuid,nodev,size=4k,mode=755")
	}
	if c.seccomp != "" {
		out = append(out, "--security-opt", "seccomp="+c.seccomp)
	}
	return out
}

// messageQueues is the file system of POSIX message queues.
const messageQueues = "/dev/mqueue"

// covered are the directories that everybody could write, did nothing lie on them: the message queues' file system, and
// what an engine would make a volume of.
func (c container) covered() []string {
	out := []string{messageQueues}
	if c.dialect == dialectPodman { // which can ignore volumes
		return out
	}
	return append(out, c.volumes...)
}

// special are the additions of one dialect.
func (c container) special() []string {
	switch c.dialect {
	case dialectPodman:
		out := []string{
			"--cgroupns", "private", "--no-healthcheck", "--read-only-tmpfs=false", "--image-volume", "ignore", "--http-proxy=false",
			"--systemd=false", "--sdnotify", "ignore", "--no-hosts",
			// A rootless podman otherwise asks for more than the user's own hard limits allow.
			"--ulimit", "nproc=" + strconv.Itoa(nprocLimit) + ":" + strconv.Itoa(nprocLimit),
		}
		if c.rootless {
			out = append(out, "--userns", "keep-id")
		}
		return out
	case dialectNerdctl:
		return []string{"--cgroupns", "private"}
	default:
		return []string{"--cgroupns", "private", "--no-healthcheck"}
	}
}

// nprocLimit counts a user's processes on the whole host, so it bounds nothing here; the process limit does.
const nprocLimit = 1 << 12

// tmpfs is the value of --tmpfs for one scratch.
func (c container) tmpfs(target string) string {
	exec, mb := "noexec", c.profile.ShmMB
	if target == "/tmp" {
		mb = c.profile.TmpfsMB
		if c.profile.ScratchExec {
			exec = "exec"
		}
	}
	value := fmt.Sprintf("%s:rw,%s,nosuid,nodev,size=%dm,mode=1777", target, exec, mb)
	if c.dialect != dialectPodman { // which does not know the option; there the memory limit, which counts inodes, bounds them
		value += fmt.Sprintf(",nr_inodes=%d", inodes(mb))
	}
	return value
}

// inodes is how many files a scratch of that size may hold: one a page, as on the native backend.
func inodes(mb int) int { return max(64, mb<<20/4096) }

// mounts are the values of --mount: what the sandbox itself needs, then what was declared.
func (c container) mounts() []string {
	out := []string{record("type=bind", "source="+c.helper, "target="+helper.InitPath, "readonly")}
	for _, f := range c.files {
		out = append(out, record("type=bind", "source="+f.Source, "target="+f.Target, "readonly"))
	}
	for _, m := range c.profile.Binds {
		out = append(out, c.mount(m))
	}
	return out
}

// mount is one declared mount. Only podman has mounts without execution; elsewhere init forbids it.
func (c container) mount(m sandbox.Mount) string {
	fields := []string{"type=bind", "source=" + m.Source, "target=" + m.Target}
	if !m.Writable {
		fields = append(fields, "readonly")
	}
	if c.mountsNoexec(m) {
		fields = append(fields, "noexec")
	}
	if !m.Recursive && c.dialect != dialectNerdctl {
		fields = append(fields, "bind-nonrecursive=true")
	}
	return record(fields...)
}

// mountsNoexec reports whether the engine itself is to forbid execution on a declared mount.
func (c container) mountsNoexec(m sandbox.Mount) bool { return !m.Exec && c.dialect == dialectPodman }

// noexec lists the targets on which init has to forbid execution.
func (c container) noexec() [][]byte {
	var out [][]byte
	for _, m := range c.profile.Binds {
		if !m.Exec && c.dialect != dialectPodman {
			out = append(out, []byte(m.Target))
		}
	}
	return out
}

// record is a line of CSV, the form of --mount, so that a path may hold commas, quotes and newlines.
func record(fields ...string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // a strings.Builder takes every write
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// without reports whether g is waived and absent, so that the engine was not relied on for it.
func (c container) without(g sandbox.Guarantee) bool { return slices.Contains(c.absent, g) }

// startsUnseen says that a container is compared once init waits in it, before it has anything to start, and not before
// it is started: what nerdctl starts after a create never sees its input, so one command does both.
func (c container) startsUnseen() bool { return c.dialect == dialectNerdctl }

// startArgs return the arguments that start the container and attach to it.
func (c container) startArgs() []string {
	if c.startsUnseen() {
		return c.makeArgs("run")
	}
	return []string{"start", "-a", "-i", c.name}
}

// inspectArgs ask what was made.
func (c container) inspectArgs() []string {
	if c.dialect == dialectNerdctl {
		return []string{"container", "inspect", "--mode", "native", c.name}
	}
	return []string{"container", "inspect", c.name}
}

// removedByStart reports whether the engine's command that starts a container returns only when --rm has been done.
func (c container) removedByStart() bool { return c.dialect != dialectNerdctl }
