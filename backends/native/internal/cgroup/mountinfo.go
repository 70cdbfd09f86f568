package cgroup

import (
	"fmt"
	"slices"
	"strings"
)

// mount is one cgroup file system of /proc/PID/mountinfo.
type mount struct {
	root        string   // the directory of the hierarchy that is visible at point
	point       string   // where it is mounted
	v2          bool     // cgroup2
	readOnly    bool     // the mount or its superblock
	controllers []string // v1: the superblock's options, controllers among them
}

// membership is one line of /proc/PID/cgroup.
type membership struct {
	v2          bool
	controllers []string // empty on v2; "name=x" for a named hierarchy
	path        string
}

// parseMountinfo returns the cgroup mounts in the order of the file; the format is in proc_pid_mountinfo(5).
func parseMountinfo(text string) ([]mount, error) {
	var mounts []mount
	for line := range strings.Lines(text) {
		m, isCgroup, err := parseMount(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		if isCgroup {
			mounts = append(mounts, m)
		}
	}
	return mounts, nil
}

// parseMount reads "id parent dev root point options [optional...] - type source superoptions".
func parseMount(line string) (m mount, isCgroup bool, err error) {
	fields := strings.Split(line, " ")
	dash := slices.Index(fields, "-")
	if dash < 6 || len(fields) < dash+4 {
		return mount{}, false, fmt.Errorf("mountinfo: line %q has too few fields", line)
	}
	fstype, super := fields[dash+1], strings.Split(fields[len(fields)-1], ",")
	if fstype != "cgroup" && fstype != "cgroup2" {
		return mount{}, false, nil
	}
	m = mount{
		root: unescape(fields[3]), point: unescape(fields[4]), v2: fstype == "cgroup2",
		readOnly: slices.Contains(strings.Split(fields[5], ","), "ro") || slices.Contains(super, "ro"),
	}
	if !m.v2 {
		m.controllers = super
	}
	return m, true, nil
}

// unescape undoes the kernel's octal escapes of space, tab, newline and backslash (mangle_path, fs/seq_file.c).
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := octal(s[i:]); ok {
			b.WriteByte(c)
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// octal reads a leading `\ooo`.
func octal(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[1:4]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n<<3 | int(c-'0')
	}
	return byte(n), n <= 0xff
}

// parseMemberships reads lines of "id:controllers:path"; see cgroups(7). A path may hold colons.
func parseMemberships(text string) ([]membership, error) {
	var all []membership
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.SplitN(line, ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			return nil, fmt.Errorf("cgroup: line %q is not id:controllers:path", line)
		}
		m := membership{path: fields[2], v2: fields[0] == "0" && fields[1] == ""}
		if fields[1] != "" {
			m.controllers = strings.Split(fields[1], ",")
		}
		all = append(all, m)
	}
	return all, nil
}
