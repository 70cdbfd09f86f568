package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// bundle is nerdctl's own form of inspect: what the runtime will be given, whole (OCI runtime specification). Its docker
// form leaves out most of what confines.
type bundle struct {
	Labels  map[string]string
	Runtime struct{ Name string }
	Spec    struct {
		Process struct {
			User struct {
				UID            uint32   `json:"uid"`
				GID            uint32   `json:"gid"`
				AdditionalGids []uint32 `json:"additionalGids"`
			} `json:"user"`
			Terminal        bool                       `json:"terminal"`
			Args            []string                   `json:"args"`
			Capabilities    map[string]json.RawMessage `json:"capabilities"`
			NoNewPrivileges bool                       `json:"noNewPrivileges"`
			Rlimits         []struct {
				Type       string
				Soft, Hard int64
			} `json:"rlimits"`
		} `json:"process"`
		Root struct {
			Readonly bool `json:"readonly"`
		} `json:"root"`
		Hostname string     `json:"hostname"`
		Mounts   []ociMount `json:"mounts"`
		Linux    ociLinux   `json:"linux"`
	}
}

type ociMount struct {
	Destination, Type, Source string
	Options                   []string
}

type ociLinux struct {
	Namespaces []struct{ Type, Path string }
	Sysctl     map[string]string
	Devices    []json.RawMessage
	Seccomp    *struct {
		DefaultAction string
		Syscalls      []json.RawMessage
	}
	Resources struct {
		Memory struct{ Limit, Swap int64 }
		CPU    struct {
			Quota  int64
			Period uint64
		}
		Pids struct{ Limit int64 }
	}
	MaskedPaths, ReadonlyPaths []string
}

// readBundle reads the answer about one container.
func readBundle(data []byte) (*bundle, error) {
	var found []bundle
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, fmt.Errorf("read the container's description: %w", err)
	}
	if len(found) != 1 {
		return nil, errors.New("there is not one container of this name")
	}
	return &found[0], nil
}

// compareBundle says in what a container of nerdctl's differs from what was asked for.
func (c container) compareBundle(b *bundle) error {
	d := &differences{}
	p, l := &b.Spec.Process, &b.Spec.Linux
	d.check(len(p.Args) == 2 && p.Args[0] == helper.InitPath, "", "the command is %q", p.Args)
	d.check(!p.Terminal, "", "it has a terminal")
	d.check(b.Spec.Hostname == dockerargs.Hostname, "", "the host name is %q", b.Spec.Hostname)
	d.check(b.Labels["nerdctl/auto-remove"] == "true", sandbox.LifeNoSurvivors, "it is not removed at its end")
	d.check(b.Labels["nerdctl/log-uri"] == "none", sandbox.LimitOutput, "its output goes to a log (%q)", b.Labels["nerdctl/log-uri"])
	for _, label := range c.labels {
		k, v, _ := strings.Cut(label, "=")
		d.check(b.Labels[k] == v, sandbox.LifeNoSurvivors, "the label %s is %q", k, b.Labels[k])
	}
	user := fmt.Sprintf("%d:%d", p.User.UID, p.User.GID)
	d.check(c.profile.User == "" || user == c.profile.User, sandbox.PrivNonroot, "the user is %s, not %s", user, c.profile.User)
	more := slices.ContainsFunc(p.User.AdditionalGids, func(g uint32) bool { return g != p.User.GID })
	d.check(!more || c.profile.User == "", sandbox.PrivNonroot, "it has more groups: %v", p.User.AdditionalGids)
	d.check(p.NoNewPrivileges, sandbox.PrivNoNewPrivileges, "setuid programs gain something")
	for set, caps := range p.Capabilities {
		d.check(slices.Contains([]string{"null", "[]"}, string(caps)), sandbox.PrivNoCapabilities, "its capabilities (%s) are %s", set, caps)
	}
	filter := l.Seccomp != nil && l.Seccomp.DefaultAction == "SCMP_ACT_ERRNO" && len(l.Seccomp.Syscalls) > 0
	d.check(filter || c.seccomp == "", sandbox.KernelSeccomp, "there is no system call filter that refuses what it does not know")
	d.check(len(l.Devices) == 0, sandbox.FSNoHostFiles, "it has devices of the host")
	d.check(b.Spec.Root.Readonly, sandbox.FSReadonlyRoot, "the root can be written")
	d.check(len(l.Sysctl) == 0, sandbox.ProcIsolated, "it changes sysctls: %v", l.Sysctl)
	d.check(c.profile.Runtime == "" || strings.Contains(b.Runtime.Name, c.profile.Runtime), sandbox.ProcIsolated, "the runtime is %q", b.Runtime.Name)
	c.compareOCINamespaces(d, b)
	c.compareOCIMounts(d, b.Spec.Mounts)
	c.compareOCILimits(d, b)
	return d.err()
}

func (c container) compareOCINamespaces(d *differences, b *bundle) {
	// What nerdctl connects a container to, its own network namespace does not tell: the hook that does it reads this label.
	networks, l := b.Labels["nerdctl/networks"], &b.Spec.Linux
	d.check(networks == fmt.Sprintf("[%q]", c.profile.Network), sandbox.NetNone, "the networks are %s, not %q", networks, c.profile.Network)
	own := map[string]bool{}
	for _, n := range l.Namespaces {
		own[n.Type] = n.Path == ""
	}
	for name, g := range map[string]sandbox.Guarantee{
		"pid": sandbox.ProcIsolated, "ipc": sandbox.IPCIsolated, "uts": sandbox.ProcIsolated, "mount": sandbox.FSNoHostFiles,
		"network": sandbox.NetNone, "cgroup": sandbox.ProcIsolated,
	} {
		d.check(own[name], g, "it has no %s namespace of its own", name)
	}
	compareMasks(d, l.MaskedPaths, l.ReadonlyPaths)
}

// engineMounts are the mounts that every container has, with their types.
func engineMounts() map[string]string {
	return map[string]string{
		"/proc": "proc", "/dev": "tmpfs", "/sys": "sysfs", "/dev/pts": "devpts", "/dev/mqueue": "mqueue", "/sys/fs/cgroup": "cgroup",
		"/etc/resolv.conf": "bind", "/etc/hosts": "bind", "/etc/hostname": "bind",
	}
}

func (c container) compareOCIMounts(d *differences, mounts []ociMount) {
	binds := c.wantedMounts()
	scratch := map[string]string{}
	for _, m := range mounts {
		if want, ok := binds[m.Destination]; ok {
			c.compareOCIBind(d, m, want)
			delete(binds, m.Destination)
			continue
		}
		own, expected := engineMounts()[m.Destination]
		switch {
		case expected && (own == m.Type || own == "cgroup" && m.Type == "cgroup2"):
			kernel := m.Destination != "/sys" && m.Destination != "/sys/fs/cgroup" || slices.Contains(m.Options, "ro")
			d.check(kernel, sandbox.ProcIsolated, "%s can be written", m.Destination)
			d.check(m.Type != "bind" || path.Base(m.Source) == path.Base(m.Destination), sandbox.FSNoHostFiles, "the mount at %q shows %q", m.Destination, m.Source)
		case m.Type == "tmpfs":
			scratch[m.Destination] = strings.Join(m.Options, ",")
		default:
			d.check(false, sandbox.FSNoHostFiles, "there is a mount at %q that nobody asked for", m.Destination)
		}
	}
	for target := range binds {
		d.check(false, sandbox.FSNoHostFiles, "the mount at %q is missing", target)
	}
	c.compareScratch(d, scratch)
}

func (c container) compareOCIBind(d *differences, m ociMount, want sandbox.Mount) {
	d.check(m.Type == "bind", sandbox.FSNoHostFiles, "the mount at %q is a %s", m.Destination, m.Type)
	d.check(c.sameSource(m.Source, want.Source), sandbox.FSNoHostFiles, "the mount at %q shows %q", m.Destination, m.Source)
	d.check(want.Writable || slices.Contains(m.Options, "ro"), sandbox.FSDeclaredWrites, "the mount at %q can be written", m.Destination)
	for _, o := range m.Options {
		shared := strings.HasSuffix(o, "shared") || strings.HasSuffix(o, "slave")
		d.check(!shared, sandbox.FSNoHostFiles, "the mount at %q passes mounts on (%s)", m.Destination, o)
	}
}

func (c container) compareOCILimits(d *differences, b *bundle) {
	p, r := c.engineProfile(), b.Spec.Linux.Resources
	memory := int64(p.Limits.MemoryMB) << 20
	d.check(r.Memory.Limit == memory && r.Memory.Swap == memory || c.without(sandbox.LimitMemory), sandbox.LimitMemory,
		"the limits on memory and swap are %d and %d, not %d", r.Memory.Limit, r.Memory.Swap, memory)
	cores := float64(0)
	if r.CPU.Period > 0 {
		cores = float64(r.CPU.Quota) / float64(r.CPU.Period)
	}
	d.check(cores > 0 && cores <= p.Limits.CPUs+0.001 || c.without(sandbox.LimitCPU), sandbox.LimitCPU, "the CPU limit is %g, not %g", cores, p.Limits.CPUs)
	d.check(r.Pids.Limit == int64(p.PIDs) || c.without(sandbox.LimitProcesses), sandbox.LimitProcesses, "the process limit is %d, not %d", r.Pids.Limit, p.PIDs)
	var got []ulimit
	for _, u := range b.Spec.Process.Rlimits {
		got = append(got, ulimit{u.Type, u.Soft, u.Hard})
	}
	c.compareUlimits(d, got)
}
