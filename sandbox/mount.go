package sandbox

import (
	"errors"
	"path"
	"strconv"
	"strings"
)

// HomeDir is HOME inside every sandbox: a directory on its scratch, so that programs find it writable and empty.
const HomeDir = "/tmp/home"

// Mount shows one directory or file of the host inside the sandbox. The zero value of its switches is the strict
// one: read-only, not executable, without whatever is mounted below the source.
type Mount struct {
	// Source is the path on the host: absolute and clean.
	Source string
	// Target is the path inside: absolute and clean, outside what the sandbox makes itself.
	Target string
	// Writable allows writing.
	Writable bool
	// Exec allows programs and libraries below it to be run and mapped.
	Exec bool
	// Recursive also shows what is mounted below Source. Without it a source with submounts is refused.
	Recursive bool
}

// ParseMount parses a container-style "source:target[:options]". As with a container engine's -v the result is
// writable and executable unless the options say otherwise: ro, rw, exec, noexec, bind, rbind, separated by commas.
// Options that ask for what every mount gets anyway (private, rprivate, nosuid, nodev) or that are hints to a virtual
// machine's file sharing (cached, delegated, consistent) are accepted and change nothing.
//
// A relative source is refused, since an engine takes it for the name of a volume, and so is a path with a colon in
// it, which this notation cannot express; a Mount value can. The error is of kind [KindInvalid].
func ParseMount(s string) (Mount, error) {
	op := "mount " + quote(s)
	source, rest, ok := cutSource(s)
	if !ok {
		return Mount{}, Invalid(op, "no target; it has to be source:target[:options]")
	}
	target, options, hasOptions := strings.Cut(rest, ":")
	if strings.Contains(options, ":") {
		return Mount{}, invalidMount(op, "too many colons", "this notation has no way to write a colon in a path; use a typed mount (--mount)")
	}
	if source == "" || target == "" || hasOptions && options == "" {
		return Mount{}, Invalid(op, "source, target or options are empty")
	}
	m := Mount{Source: tidySource(source), Target: tidy(target), Writable: true, Exec: true}
	if hasOptions {
		if err := m.setOptions(op, strings.Split(options, ",")); err != nil {
			return Mount{}, err
		}
	}
	if err := m.Validate(); err != nil {
		return Mount{}, err
	}
	return m, nil
}

// mountOptions maps each option to the question it answers. Two options with the same answer contradict each other
// or repeat themselves, and both are refused, as engines do.
var mountOptions = map[string]string{
	"ro": "writing", "rw": "writing",
	"exec": "running", "noexec": "running",
	"bind": "submounts", "rbind": "submounts",
	"private": "propagation", "rprivate": "propagation",
	"nosuid": "setuid", "nodev": "devices",
	"cached": "consistency", "delegated": "consistency", "consistent": "consistency",
}

// refusedOptions are options of engines that are known and that no sandbox grants, with the reason.
var refusedOptions = map[string]string{
	"z": "it relabels the files on the host", "Z": "it relabels the files on the host",
	"U":      "it changes the owner of the files on the host",
	"shared": "mounts made inside would show on the host", "rshared": "mounts made inside would show on the host",
	"slave": "later mounts of the host would show inside", "rslave": "later mounts of the host would show inside",
	"suid": "setuid programs never gain anything inside", "dev": "device files never work in a mount",
	"nocopy": "it belongs to engine volumes", "copy": "it belongs to engine volumes",
	"O": "overlays are not supported", "idmap": "the backend decides who owns what",
}

func (m *Mount) setOptions(op string, options []string) error {
	answered := map[string]string{}
	for _, o := range options {
		if why, ok := refusedOptions[o]; ok {
			return Invalid(op, "option %q is refused: %s", o, why)
		}
		question, ok := mountOptions[o]
		if !ok {
			return Invalid(op, "option %s is not known", quote(o))
		}
		if before, ok := answered[question]; ok {
			return Invalid(op, "options %q and %q exclude each other", before, o)
		}
		answered[question] = o
	}
	m.Writable = answered["writing"] != "ro"
	m.Exec = answered["running"] != "noexec"
	m.Recursive = answered["submounts"] == "rbind"
	return nil
}

// String returns the mount in the notation of [ParseMount], with every switch spelled out. A path that the notation
// cannot express is quoted as in Go source.
func (m Mount) String() string {
	options := "ro"
	if m.Writable {
		options = "rw"
	}
	if m.Exec {
		options += ",exec"
	} else {
		options += ",noexec"
	}
	if m.Recursive {
		options += ",rbind"
	}
	return plainOrQuoted(m.Source) + ":" + plainOrQuoted(m.Target) + ":" + options
}

func plainOrQuoted(s string) string {
	if q := strconv.Quote(s); strings.ContainsAny(s, ": ") || q != `"`+s+`"` {
		return q
	}
	return s
}

// Validate checks the mount without looking at any file: both paths absolute and in their shortest form, the source
// not a place of the host that no sandbox may see or change, the target not the sandbox's own. Any byte that a Linux
// path may hold is accepted. The error is of kind [KindInvalid].
func (m Mount) Validate() error {
	op := "mount " + quote(m.Source)
	if m.Source == "" || m.Target == "" {
		return Invalid(op, "source or target is empty")
	}
	if err := checkString(op, m.Source); err != nil {
		return err
	}
	if err := checkSourceForm(op, m.Source); err != nil {
		return err
	}
	if err := m.checkPlace(op, m.Source); err != nil {
		return err
	}
	return checkTarget(op+" at "+quote(m.Target), m.Target)
}

// checkPlace refuses a source that lies in, or is, a forbidden place.
func (m Mount) checkPlace(op, source string) error {
	for _, p := range forbiddenSources() {
		if m.forbids(p, source) {
			return invalidMount(op, "it is "+p.why, "mount a directory that holds only what the program needs")
		}
	}
	return nil
}

// forbids reports whether rule p concerns this mount when its source is at the given path.
func (m Mount) forbids(p place, source string) bool {
	if p.ifWritable && !m.Writable {
		return false
	}
	return source == p.path || p.below && isBelow(source, p.path)
}

// place is a forbidden source.
type place struct {
	path       string
	below      bool // everything below it too
	ifWritable bool // only when the mount is writable
	why        string
}

// reservedTargets are the directories that every sandbox makes itself. A mount on or below one of them would hide
// the sandbox's own files.
var reservedTargets = []string{
	"/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
}

func checkTarget(op, target string) error {
	if err := checkInsidePath(op, target); err != nil {
		return err
	}
	for _, r := range reservedTargets {
		if target == r || isBelow(target, r) {
			return Invalid(op, "the target hides %s, which the sandbox makes itself", r)
		}
	}
	switch target {
	case "/", "/run", "/tmp", "/var/tmp", HomeDir:
		return Invalid(op, "the target hides %s, which the sandbox makes itself", target)
	}
	return nil
}

// Linux's limits, include/uapi/linux/limits.h: PATH_MAX counts the terminating NUL, NAME_MAX does not.
const (
	pathMax = 4096
	nameMax = 255
)

func checkLengths(op, p string) error {
	if len(p) >= pathMax {
		return Invalid(op, "the path has %d bytes, more than %d", len(p), pathMax-1)
	}
	for name := range strings.SplitSeq(p, "/") {
		if len(name) > nameMax {
			return Invalid(op, "the name %s has %d bytes, more than %d", quote(name), len(name), nameMax)
		}
	}
	return nil
}

// checkOverlap refuses two mounts of which one hides the other or lies inside it.
func checkOverlap(ms []Mount) error {
	seen := make(map[string]bool, len(ms))
	for _, m := range ms {
		if seen[m.Target] {
			return Invalid("mount at "+quote(m.Target), "two mounts have this target")
		}
		seen[m.Target] = true
	}
	for _, m := range ms {
		for dir := path.Dir(m.Target); len(dir) > 1; dir = path.Dir(dir) {
			if seen[dir] {
				return Invalid("mount at "+quote(m.Target), "it lies inside the mount at %s", quote(dir))
			}
		}
	}
	return nil
}

// tidy returns the shortest form of a slash-separated path, as engines do with -v, but leaves one with ".." alone, so
// that Validate refuses it.
func tidy(p string) string {
	for name := range strings.SplitSeq(p, "/") {
		if name == ".." {
			return p
		}
	}
	return path.Clean(p)
}

// isBelow reports whether p lies strictly below dir; both are absolute, clean and separated by slashes.
func isBelow(p, dir string) bool {
	if dir == "/" {
		return len(p) > 1 && p[0] == '/'
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

func invalidMount(op, cause, fix string) error {
	return &Error{Kind: KindInvalid, Op: op, Cause: errors.New(cause), Fix: fix}
}
