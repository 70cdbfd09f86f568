package sandbox

import (
	"encoding/csv"
	"strconv"
	"strings"
)

// RunArgs returns the arguments of a container engine's command line that runs argv in image under p: everything after
// the binary's name, "run" first. It is pure and emits literally what the fields say:
//
//   - always --rm -i --network --read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit --tmpfs, where
//     "" is the network "none", PIDs 0 is 128 and TmpfsMB 0 is 64;
//   - every other flag only when its field is set. User "" is left to the image, so a backend sets the field first.
//     "auto" stays "auto", which is no user of any image: an engine refuses what no backend has resolved.
//
// Entries of Env stand on the command line as they are; a backend that must keep their values off it passes the names
// alone. Wall, OutputKB, Interpreters, Inotify and Require have no flag and are the backend's own work. So is
// [Mount].Exec, since engines have no mount without execution, and a Mount whose path holds CR LF, which no --mount
// value can express.
func (p ContainerProfile) RunArgs(image string, argv ...string) []string {
	a := args{"run", "--rm", "-i"}
	a.text("--network", orText(p.Network, NetworkNone))
	a = append(a, "--read-only")
	a.text("--user", p.User)
	a = append(a, "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
	a.number("--pids-limit", orNumber(p.PIDs, DefaultPIDs), "")
	a.text("--tmpfs", p.tmpfs())
	for _, m := range p.Mounts {
		a = append(a, "-v", m)
	}
	for _, m := range p.Binds {
		a = append(a, "--mount", m.engineValue())
	}
	a.text("-w", p.Workdir)
	p.appendLimits(&a)
	a.text("--runtime", p.Runtime)
	for _, e := range p.Env {
		a = append(a, "-e", e)
	}
	a = append(a, image)
	return append(a, argv...)
}

func (p ContainerProfile) appendLimits(a *args) {
	l := p.Limits
	a.number("--memory", l.MemoryMB, "m")
	if l.CPUs != 0 {
		a.text("--cpus", strconv.FormatFloat(l.CPUs, 'f', -1, 64))
	}
	a.ulimit("nofile", l.OpenFiles)
	a.ulimit("fsize", l.FileSizeMB<<20)
	a.ulimit("cpu", l.CPUSeconds)
	a.number("--shm-size", p.ShmMB, "m")
}

func (p ContainerProfile) tmpfs() string {
	exec := "noexec"
	if p.ScratchExec {
		exec = "exec"
	}
	return "/tmp:rw," + exec + ",nosuid,size=" + strconv.Itoa(orNumber(p.TmpfsMB, DefaultTmpfsMB)) + "m"
}

// engineValue returns the value of --mount: one CSV record, so that a path may hold commas, quotes and newlines.
func (m Mount) engineValue() string {
	fields := []string{"type=bind", "source=" + m.Source, "target=" + m.Target}
	if !m.Writable {
		fields = append(fields, "readonly")
	}
	switch {
	case m.Recursive && m.Writable:
		fields = append(fields, "bind-recursive=enabled")
	case m.Recursive:
		// A read-only bind leaves the mounts below it writable unless asked for this, and the engine refuses it
		// together with any propagation but rprivate (docs.docker.com, "Recursive mounts").
		fields = append(fields, "bind-recursive=readonly", "bind-propagation=rprivate")
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // a strings.Builder takes every write
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// args is a command line being built; its methods leave out what is not set.
type args []string

func (a *args) text(flag, value string) {
	if value != "" {
		*a = append(*a, flag, value)
	}
}

func (a *args) number(flag string, n int, unit string) {
	if n != 0 {
		a.text(flag, strconv.Itoa(n)+unit)
	}
}

func (a *args) ulimit(name string, n int) {
	if n != 0 {
		a.text("--ulimit", name+"="+strconv.Itoa(n)+":"+strconv.Itoa(n))
	}
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func orNumber(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}
