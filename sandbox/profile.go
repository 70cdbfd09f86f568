package sandbox

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits bounds what one sandbox consumes. In every field 0 means the default that [ContainerProfile.WithDefaults]
// writes, and a negative value is invalid; there is no way to say "unlimited".
type Limits struct {
	// MemoryMB is the memory of the whole tree in MiB, scratch included. 0 means 512.
	MemoryMB int
	// CPUs is how many cores may be used at a time. 0 means 1.
	CPUs float64
	// CPUSeconds is the CPU time of the whole tree in seconds. 0 means 30.
	CPUSeconds int
	// Wall is the wall-clock time of a call. 0 means 60 s.
	Wall time.Duration
	// OpenFiles is the number of open descriptors a process. 0 means 256.
	OpenFiles int
	// FileSizeMB is the size of one file in MiB. 0 means 64.
	FileSizeMB int
	// OutputKB is how much of each output stream is kept, in KiB. 0 means 1024.
	OutputKB int
}

// ContainerProfile says what one sandbox may see, use and consume. The zero value is the strictest useful one: no
// network, no mounts, an unprivileged user, small limits. The same value confines alike on every backend, or is refused.
type ContainerProfile struct {
	// Image is what the program finds as its root. "" means the backend's own default (native: "host", this
	// machine's own programs read-only).
	Image string
	// Network is "none" or, on backends that can, the name of an engine's network. "" means "none".
	Network string
	// Limits bounds the consumption.
	Limits Limits
	// PIDs is how many processes and threads may exist at a time. 0 means 128.
	PIDs int
	// TmpfsMB is the size of the scratch /tmp in MiB. 0 means 64.
	TmpfsMB int
	// ShmMB is the size of /dev/shm in MiB. 0 means 64.
	ShmMB int
	// ScratchExec allows programs on the scratch to be run. It gives up [FSNoexecScratch].
	ScratchExec bool
	// User is who the program is inside: "auto", or "uid:gid" with neither 0. "" means "auto", which the backend
	// chooses and which is never root.
	User string
	// Workdir is the working directory inside. "" means /tmp.
	Workdir string
	// Mounts holds container-style -v strings ("source:target[:options]"); see [ParseMount]. Nothing is mounted
	// that is not named here or in Binds.
	Mounts []string
	// Binds holds typed mounts; they accept every path that Linux does. Both lists count.
	Binds []Mount
	// Env holds KEY=VALUE entries for every call. A call's own Env wins.
	Env []string
	// Interpreters are host paths of interpreters outside the image (a pyenv shim, a virtual environment's python, an
	// nvm node). Each is resolved and its prefix mounted read-only at its own path. Native only.
	Interpreters []string
	// Runtime is an engine's runtime ("runsc", "kata"). "" means the engine's own. Not for native.
	Runtime string
	// Inotify allows inotify and fanotify, which otherwise show accesses of other sandboxes through shared files.
	Inotify bool
	// Require names guarantees that must hold beyond the backend's own required set, whatever the operator waives.
	Require []Guarantee
}

// The defaults of a profile.
const (
	DefaultMemoryMB   = 512
	DefaultCPUs       = 1.0
	DefaultCPUSeconds = 30
	DefaultWall       = 60 * time.Second
	DefaultOpenFiles  = 256
	DefaultFileSizeMB = 64
	DefaultOutputKB   = 1024
	DefaultPIDs       = 128
	DefaultTmpfsMB    = 64
	DefaultShmMB      = 64
	DefaultWorkdir    = "/tmp"
	// ImageHost is this machine's own programs, read-only. The native backend has it.
	ImageHost = "host"
	// UserAuto lets the backend choose an unprivileged user.
	UserAuto = "auto"
	// NetworkNone is no network but a private loopback.
	NetworkNone = "none"
)

// MinMemoryMB is the least memory limit that is accepted: below it not even a static program starts inside its own
// limit (measured with the native backend: true and an empty Go program need 4 MiB).
const MinMemoryMB = 4

// WithDefaults returns a copy of p in which every zero value is replaced by what it means. It spells the profile out
// and changes nothing else; Image stays, since its default is the backend's.
func (p ContainerProfile) WithDefaults() ContainerProfile {
	def(&p.Network, NetworkNone)
	def(&p.Limits.MemoryMB, DefaultMemoryMB)
	def(&p.Limits.CPUs, DefaultCPUs)
	def(&p.Limits.CPUSeconds, DefaultCPUSeconds)
	def(&p.Limits.Wall, DefaultWall)
	def(&p.Limits.OpenFiles, DefaultOpenFiles)
	def(&p.Limits.FileSizeMB, DefaultFileSizeMB)
	def(&p.Limits.OutputKB, DefaultOutputKB)
	def(&p.PIDs, DefaultPIDs)
	def(&p.TmpfsMB, DefaultTmpfsMB)
	def(&p.ShmMB, DefaultShmMB)
	def(&p.User, UserAuto)
	def(&p.Workdir, DefaultWorkdir)
	p.Mounts = slices.Clone(p.Mounts)
	p.Binds = slices.Clone(p.Binds)
	p.Env = slices.Clone(p.Env)
	p.Interpreters = slices.Clone(p.Interpreters)
	p.Require = slices.Clone(p.Require)
	return p
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate returns an error of kind [KindInvalid] about the first thing in p that cannot be meant on any backend. It
// looks at no file; see [Mount.Check] for what a mount's source must be.
func (p ContainerProfile) Validate() error {
	if err := p.validateLimits(); err != nil {
		return err
	}
	if err := p.validateNames(); err != nil {
		return err
	}
	if _, err := ParseUser(p.User); err != nil {
		return err
	}
	if p.Workdir != "" {
		if err := checkInsidePath("working directory", p.Workdir); err != nil {
			return err
		}
	}
	total := 0
	if err := validateEnv("profile environment", p.Env, &total); err != nil {
		return err
	}
	if total > MaxEnvironment {
		return Invalid("profile environment", "%d bytes, more than %d; hand large data over on stdin or in a file", total, MaxEnvironment)
	}
	for _, g := range p.Require {
		if !g.Valid() {
			return Invalid("require", "%q is no guarantee", string(g))
		}
	}
	_, err := p.AllMounts()
	return err
}

func (p ContainerProfile) validateNames() error {
	for _, n := range []struct{ op, name string }{{"image", p.Image}, {"network", p.Network}, {"runtime", p.Runtime}} {
		if err := checkName(n.op, n.name); err != nil {
			return err
		}
	}
	// "container:ID" and "ns:PATH" would join another's network.
	if strings.Contains(p.Network, ":") {
		return Invalid("network", "%s is not the name of a network", quote(p.Network))
	}
	for _, i := range p.Interpreters {
		if i == "" {
			return Invalid("interpreter", "an empty path")
		}
		if err := checkString("interpreter", i); err != nil {
			return err
		}
	}
	return nil
}

func (p ContainerProfile) validateLimits() error {
	l := p.Limits
	for _, f := range []struct {
		name     string
		val, max int
	}{
		{"memory limit (MiB)", l.MemoryMB, 1 << 30},
		{"CPU seconds", l.CPUSeconds, 1 << 30},
		{"open files", l.OpenFiles, 1 << 20}, // fs.nr_open's default
		{"file size (MiB)", l.FileSizeMB, 1 << 30},
		{"output limit (KiB)", l.OutputKB, 1 << 20},
		{"process limit", p.PIDs, 1 << 22}, // PID_MAX_LIMIT of a 64-bit kernel
		{"scratch size (MiB)", p.TmpfsMB, 1 << 30},
		{"shared memory size (MiB)", p.ShmMB, 1 << 30},
	} {
		if f.val < 0 {
			return Invalid(f.name, "%d must not be negative (0 means the default)", f.val)
		}
		if f.val > f.max {
			return Invalid(f.name, "%d is more than the largest accepted, %d", f.val, f.max)
		}
	}
	if l.MemoryMB != 0 && l.MemoryMB < MinMemoryMB {
		return Invalid("memory limit (MiB)", "%d is less than any program can start in; the least is %d", l.MemoryMB, MinMemoryMB)
	}
	if l.OpenFiles != 0 && l.OpenFiles < 8 {
		return Invalid("open files", "%d is less than any program can start in; the least is 8", l.OpenFiles)
	}
	if math.IsNaN(l.CPUs) || l.CPUs < 0 || l.CPUs > 1<<16 || l.CPUs > 0 && l.CPUs < 0.01 {
		return Invalid("CPU limit", "%v cores is not between 0.01 and %d", l.CPUs, 1<<16)
	}
	if l.Wall < 0 || l.Wall > 366*24*time.Hour {
		return Invalid("timeout", "%s is not between 0 and a year", l.Wall)
	}
	return nil
}

// AllMounts returns the parsed Mounts followed by the Binds, each lexically valid, sorted by target so that none
// hides another.
func (p ContainerProfile) AllMounts() ([]Mount, error) {
	all := make([]Mount, 0, len(p.Mounts)+len(p.Binds))
	for _, s := range p.Mounts {
		m, err := ParseMount(s)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	all = append(all, p.Binds...)
	for _, m := range all {
		if err := m.Validate(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	return all, checkOverlap(all)
}

// UserSpec is a parsed User.
type UserSpec struct {
	// Auto lets the backend choose. The ids are then 0 and mean nothing.
	Auto bool
	// UID and GID are the ids inside; never 0.
	UID, GID uint32
}

// ParseUser parses the User of a profile: "" or "auto", or "uid:gid" in decimal, neither of them 0 and both below
// 2^31. A name, a lone uid and anything else are invalid.
func ParseUser(s string) (UserSpec, error) {
	if s == "" || s == UserAuto {
		return UserSpec{Auto: true}, nil
	}
	u, g, ok := strings.Cut(s, ":")
	if !ok {
		e := &Error{Kind: KindInvalid, Op: "user", Cause: fmt.Errorf("%q is neither %q nor uid:gid in numbers", truncate(s), UserAuto)}
		if _, err := parseID(s); err == nil {
			e.Fix = "write " + s + ":" + s
		}
		return UserSpec{}, e
	}
	uid, err := parseID(u)
	if err != nil {
		return UserSpec{}, Invalid("user", "%q: uid %w", truncate(s), err)
	}
	gid, err := parseID(g)
	if err != nil {
		return UserSpec{}, Invalid("user", "%q: gid %w", truncate(s), err)
	}
	return UserSpec{UID: uid, GID: gid}, nil
}

func parseID(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || s != strconv.FormatUint(n, 10) {
		return 0, fmt.Errorf("%q is no number between 1 and 2147483647", truncate(s))
	}
	if n == 0 {
		return 0, fmt.Errorf("0 is root, and a sandboxed program never is")
	}
	return uint32(n), nil
}

// checkInsidePath checks a path inside the sandbox: absolute, clean, without NUL, and not a way into /proc.
func checkInsidePath(op, p string) error {
	if err := checkString(op, p); err != nil {
		return err
	}
	if !path.IsAbs(p) || path.Clean(p) != p {
		return Invalid(op, "%q is not an absolute path in its shortest form", truncate(p))
	}
	// CVE-2024-21626: a working directory of /proc/self/fd/N reaches a leaked directory descriptor.
	if p == "/proc" || strings.HasPrefix(p, "/proc/") {
		return Invalid(op, "%q is in /proc", truncate(p))
	}
	return checkLengths(op, p)
}

func quote(s string) string { return strconv.Quote(truncate(s)) }

// truncate keeps an error readable when the value in it is not.
func truncate(s string) string {
	if len(s) <= 120 {
		return s
	}
	return s[:100] + "…"
}
