package docker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// made is what an engine says that it made: docker's form of inspect, which podman shares in most parts.
type made struct {
	Image         string
	Name          string
	State         struct{ Status string }
	EffectiveCaps []string
	BoundingCaps  []string
	OCIRuntime    string
	Mounts        []madeMount
	Config        struct {
		User        string
		Tty         bool
		OpenStdin   bool
		Cmd         []string
		Entrypoint  entrypoint
		Hostname    string
		Labels      map[string]string
		Healthcheck *struct{ Test []string }
	}
	HostConfig hostConfig
}

type hostConfig struct {
	LogConfig       struct{ Type string }
	NetworkMode     string
	PortBindings    map[string]json.RawMessage
	RestartPolicy   struct{ Name string }
	AutoRemove      bool
	VolumesFrom     []string
	CapAdd          []string
	CapDrop         []string
	CgroupnsMode    string
	CgroupMode      string
	GroupAdd        []string
	IpcMode         string
	PidMode         string
	UTSMode         string
	UsernsMode      string
	Privileged      bool
	PublishAllPorts bool
	ReadonlyRootfs  bool
	SecurityOpt     []string
	Tmpfs           map[string]string
	Runtime         string
	ShmSize         int64
	Memory          int64
	MemorySwap      int64
	NanoCpus        int64
	OomKillDisable  bool
	PidsLimit       int64
	Ulimits         []ulimit
	Devices         []json.RawMessage
	DeviceRequests  []json.RawMessage
	Sysctls         map[string]string
	MaskedPaths     []string
	ReadonlyPaths   []string
}

type ulimit struct {
	Name       string
	Soft, Hard int64
}

type madeMount struct {
	Type, Source, Destination string
	RW                        bool
	Propagation               string
	Options                   []string
}

// entrypoint is a list in docker's answer and a string in podman's.
type entrypoint []string

// UnmarshalJSON implements json.Unmarshaler.
func (e *entrypoint) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*e = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(e))
}

// readMade reads the answer about one container.
func readMade(data []byte) (*made, error) {
	var found []made
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, fmt.Errorf("read the container's description: %w", err)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d containers have this name", len(found))
	}
	return &found[0], nil
}

// differences collects what is not as asked for, with the guarantee that it concerns.
type differences struct{ list []difference }

type difference struct {
	guarantee sandbox.Guarantee
	text      string
}

func (d *differences) check(ok bool, g sandbox.Guarantee, format string, args ...any) {
	if !ok {
		d.list = append(d.list, difference{g, fmt.Sprintf(format, args...)})
	}
}

// err refuses the container for the first difference.
func (d *differences) err() error {
	if len(d.list) == 0 {
		return nil
	}
	var all []string
	for _, x := range d.list {
		all = append(all, x.text)
	}
	return &sandbox.Error{
		Kind: sandbox.KindRefused, Op: "compare the container with the profile", Guarantee: d.list[0].guarantee,
		Cause: errors.New(strings.Join(all, "; ")),
		Fix:   "the engine made another container than it was asked for: update it, or waive nothing and use another backend",
	}
}

// check compares what the engine's inspect says with what was asked for.
func (c container) check(answer []byte, imageID string) error {
	setup := func(err error) error {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "inspect the container", Cause: err}
	}
	if c.dialect == dialectNerdctl {
		b, err := readBundle(answer)
		if err != nil {
			return setup(err)
		}
		return c.compareBundle(b)
	}
	m, err := readMade(answer)
	if err != nil {
		return setup(err)
	}
	if !sameID(m.Image, imageID) {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "inspect the container", Cause: errImageChanged, Fix: "call again"}
	}
	return c.compare(m)
}

// compare says in what a container differs from what was asked for.
func (c container) compare(m *made) error {
	d := &differences{}
	c.compareProcess(d, m)
	c.compareNamespaces(d, &m.HostConfig)
	c.compareFiles(d, m)
	c.compareLimits(d, &m.HostConfig)
	c.comparePrivileges(d, m)
	return d.err()
}

// sameID compares ids that engines write with and without their algorithm.
func sameID(a, b string) bool {
	return a != "" && strings.TrimPrefix(a, "sha256:") == strings.TrimPrefix(b, "sha256:")
}

func (c container) compareProcess(d *differences, m *made) {
	d.check(strings.TrimPrefix(m.Name, "/") == c.name, "", "the name is %q", m.Name)
	d.check(slices.Contains([]string{"created", "configured", "initialized"}, m.State.Status), "", "its state is %q", m.State.Status)
	d.check(slices.Equal(m.Config.Entrypoint, []string{helper.InitPath}), "", "the entry point is %q", []string(m.Config.Entrypoint))
	d.check(len(m.Config.Cmd) == 1, "", "the command is %q", m.Config.Cmd)
	d.check(m.Config.OpenStdin && !m.Config.Tty, "", "its input is not open, or a terminal")
	d.check(m.Config.Hostname == dockerargs.Hostname, "", "the host name is %q", m.Config.Hostname)
	h := m.Config.Healthcheck
	d.check(h == nil || len(h.Test) == 0 || h.Test[0] == "NONE", sandbox.LifeNoSurvivors, "it has a health check")
	d.check(m.HostConfig.AutoRemove, sandbox.LifeNoSurvivors, "it is not removed at its end")
	d.check(slices.Contains([]string{"", "no"}, m.HostConfig.RestartPolicy.Name), sandbox.LifeNoSurvivors, "it is restarted (%q)", m.HostConfig.RestartPolicy.Name)
	d.check(m.HostConfig.LogConfig.Type == "none", sandbox.LimitOutput, "its output goes to a log (%q)", m.HostConfig.LogConfig.Type)
	for _, l := range c.labels {
		k, v, _ := strings.Cut(l, "=")
		d.check(m.Config.Labels[k] == v, sandbox.LifeNoSurvivors, "the label %s is %q", k, m.Config.Labels[k])
	}
}

func (c container) compareNamespaces(d *differences, h *hostConfig) {
	d.check(h.NetworkMode == c.profile.Network, sandbox.NetNone, "the network is %q, not %q", h.NetworkMode, c.profile.Network)
	d.check(len(h.PortBindings) == 0 && !h.PublishAllPorts, sandbox.NetNone, "it publishes ports")
	// podman calls one that is the container's own "shareable": another container could be started in it, by whoever may
	// start any.
	own := h.IpcMode == "private" || c.dialect == dialectPodman && h.IpcMode == "shareable"
	d.check(own, sandbox.IPCIsolated, "the IPC namespace is %q", h.IpcMode)
	d.check(slices.Contains([]string{"", "private"}, h.PidMode), sandbox.ProcIsolated, "the process namespace is %q", h.PidMode)
	d.check(slices.Contains([]string{"", "private"}, h.UTSMode), sandbox.ProcIsolated, "the UTS namespace is %q", h.UTSMode)
	d.check(h.UsernsMode != "host", sandbox.PrivNonroot, "the user namespace is the host's")
	cgroup := h.CgroupnsMode
	if c.dialect == dialectPodman {
		cgroup = h.CgroupMode
	}
	d.check(cgroup == "private", sandbox.ProcIsolated, "the cgroup namespace is %q", cgroup)
	if c.dialect != dialectPodman { // which does not tell
		compareMasks(d, h.MaskedPaths, h.ReadonlyPaths)
	}
}

// compareMasks looks for the engine's masks, which it can be told to leave out. Which files they cover is its own list.
func compareMasks(d *differences, masked, readonly []string) {
	for _, p := range []string{"/proc/kcore", "/proc/keys"} {
		d.check(slices.Contains(masked, p), sandbox.ProcIsolated, "%s is not masked", p)
	}
	d.check(slices.Contains(readonly, "/proc/sys"), sandbox.ProcIsolated, "/proc/sys can be written")
}

func (c container) compareFiles(d *differences, m *made) {
	h := &m.HostConfig
	d.check(h.ReadonlyRootfs, sandbox.FSReadonlyRoot, "the root can be written")
	d.check(len(h.VolumesFrom) == 0, sandbox.FSNoHostFiles, "it has volumes from %q", h.VolumesFrom)
	d.check(len(h.Devices) == 0 && len(h.DeviceRequests) == 0, sandbox.FSNoHostFiles, "it has devices of the host")
	want := c.wantedMounts()
	for _, got := range m.Mounts {
		w, ok := want[got.Destination]
		_, scratch := h.Tmpfs[got.Destination]
		if !ok && scratch && got.Type == "tmpfs" {
			continue
		}
		d.check(ok, sandbox.FSNoHostFiles, "there is a mount at %q that nobody asked for", got.Destination)
		if ok {
			d.check(got.Type == "bind", sandbox.FSNoHostFiles, "the mount at %q is a %s", got.Destination, got.Type)
			d.check(c.sameSource(got.Source, w.Source), sandbox.FSNoHostFiles, "the mount at %q shows %q", got.Destination, got.Source)
			d.check(!got.RW || w.Writable, sandbox.FSDeclaredWrites, "the mount at %q can be written", got.Destination)
			d.check(!c.mountsNoexec(w) || slices.Contains(got.Options, "noexec"), sandbox.FSNoexecScratch, "programs on the mount at %q can be executed", got.Destination)
			d.check(slices.Contains([]string{"", "rprivate", "private"}, got.Propagation), sandbox.FSNoHostFiles, "the mount at %q passes mounts on (%s)", got.Destination, got.Propagation)
			delete(want, got.Destination)
		}
	}
	for target := range want {
		d.check(false, sandbox.FSNoHostFiles, "the mount at %q is missing", target)
	}
	c.compareScratch(d, h.Tmpfs)
}

// wantedMounts are the bind mounts that were asked for, by target. Execution is forbidden on declared ones alone.
func (c container) wantedMounts() map[string]sandbox.Mount {
	want := map[string]sandbox.Mount{helper.InitPath: {Source: c.helper, Exec: true}}
	for _, f := range c.files {
		f.Exec = true
		want[f.Target] = f
	}
	for _, m := range c.profile.Binds {
		want[m.Target] = m
	}
	return want
}

// sameSource compares a mount's source. An engine in a virtual machine sees the host's files elsewhere.
func (c container) sameSource(got, want string) bool {
	if !c.local {
		return got != ""
	}
	return got == want
}

func (c container) compareScratch(d *differences, got map[string]string) {
	want := map[string]string{}
	for _, target := range []string{"/tmp", "/dev/shm"} {
		want[target] = c.tmpfs(target)
	}
	for _, v := range c.covered() {
		want[v] = "ro"
	}
	for target, options := range got {
		w, ok := want[target]
		d.check(ok, sandbox.FSDeclaredWrites, "there is a scratch at %q that nobody asked for", target)
		_, w, _ = strings.Cut(w, ":")
		set := strings.Split(options, ",")
		for o := range strings.SplitSeq(w, ",") {
			d.check(!ok || o == "" || o == "rw" || o == "exec" || slices.Contains(set, o), sandbox.FSNoexecScratch, "the scratch at %q has no %q", target, o)
		}
		delete(want, target)
	}
	for target := range want {
		d.check(false, sandbox.FSDeclaredWrites, "the scratch at %q is missing", target)
	}
}

func (c container) compareLimits(d *differences, h *hostConfig) {
	p := c.engineProfile()
	memory := int64(p.Limits.MemoryMB) << 20
	d.check(h.Memory == memory || c.without(sandbox.LimitMemory), sandbox.LimitMemory, "the memory limit is %d, not %d", h.Memory, memory)
	d.check(h.MemorySwap == memory || c.without(sandbox.LimitMemory), sandbox.LimitMemory, "the limit on memory and swap is %d, not %d", h.MemorySwap, memory)
	d.check(!h.OomKillDisable, sandbox.LimitMemory, "nothing is killed at the memory limit")
	cpus := int64(p.Limits.CPUs * 1e9)
	d.check(near(h.NanoCpus, cpus) || c.without(sandbox.LimitCPU), sandbox.LimitCPU, "the CPU limit is %d, not %d", h.NanoCpus, cpus)
	d.check(h.PidsLimit == int64(p.PIDs) || c.without(sandbox.LimitProcesses), sandbox.LimitProcesses, "the process limit is %d, not %d", h.PidsLimit, p.PIDs)
	shm := int64(p.ShmMB) << 20
	d.check(h.ShmSize == shm, sandbox.LimitFiles, "the shared memory is %d, not %d", h.ShmSize, shm)
	c.compareUlimits(d, h.Ulimits)
}

func (c container) compareUlimits(d *differences, got []ulimit) {
	p := c.engineProfile()
	want := map[string]int64{"nofile": int64(p.Limits.OpenFiles), "fsize": int64(p.Limits.FileSizeMB) << 20, "core": 1}
	if p.Limits.CPUSeconds > 0 {
		want["cpu"] = int64(p.Limits.CPUSeconds)
	}
	for _, u := range got {
		name := strings.ToLower(strings.TrimPrefix(u.Name, "RLIMIT_"))
		if w, ok := want[name]; ok {
			d.check(u.Soft == w && u.Hard == w, sandbox.LimitFiles, "the limit %s is %d:%d, not %d", name, u.Soft, u.Hard, w)
			delete(want, name)
		}
	}
	for name := range want {
		d.check(false, sandbox.LimitFiles, "the limit %s is missing", name)
	}
}

// near allows for the rounding of a fraction of a core.
func near(a, b int64) bool { return a-b <= 1000 && b-a <= 1000 }

func (c container) comparePrivileges(d *differences, m *made) {
	h := &m.HostConfig
	d.check(!h.Privileged, sandbox.PrivNoCapabilities, "it is privileged")
	d.check(len(h.CapAdd) == 0 && len(m.EffectiveCaps) == 0 && len(m.BoundingCaps) == 0, sandbox.PrivNoCapabilities, "it has capabilities")
	if c.dialect != dialectPodman { // which lists what it drops one by one, and what is left above
		all := slices.ContainsFunc(h.CapDrop, func(s string) bool { return strings.EqualFold(s, "ALL") })
		d.check(all, sandbox.PrivNoCapabilities, "it drops %q", h.CapDrop)
	}
	d.check(len(h.GroupAdd) == 0, sandbox.PrivNonroot, "it has more groups: %q", h.GroupAdd)
	d.check(m.Config.User == c.user, sandbox.PrivNonroot, "the user is %q, not %q", m.Config.User, c.user)
	d.check(slices.ContainsFunc(h.SecurityOpt, isNoNewPrivileges), sandbox.PrivNoNewPrivileges, "setuid programs gain something")
	d.check(slices.ContainsFunc(h.SecurityOpt, c.isFilter) || c.seccomp == "", sandbox.KernelSeccomp, "there is no system call filter")
	d.check(!slices.Contains(h.SecurityOpt, "seccomp=unconfined"), sandbox.KernelSeccomp, "the system call filter is off")
	d.check(len(h.Sysctls) == 0, sandbox.ProcIsolated, "it changes sysctls: %v", h.Sysctls)
	runtime := h.Runtime
	if c.dialect == dialectPodman {
		runtime = m.OCIRuntime
	}
	d.check(c.profile.Runtime == "" || runtime == c.profile.Runtime, sandbox.ProcIsolated, "the runtime is %q, not %q", runtime, c.profile.Runtime)
}

func isNoNewPrivileges(option string) bool {
	name, value, _ := strings.Cut(strings.Replace(option, "=", ":", 1), ":")
	return name == "no-new-privileges" && (value == "" || value == "true")
}

// isFilter reports whether an option is the filter that was handed over: docker keeps its text, podman its path.
func (c container) isFilter(option string) bool {
	value, ok := strings.CutPrefix(option, "seccomp=")
	if !ok || value == c.seccomp {
		return ok
	}
	var text bytes.Buffer
	return json.Compact(&text, []byte(value)) == nil && text.String() == c.filter
}
