package rootfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Mount is a mount point and what is mounted there.
type Mount struct {
	// Path is the mount point.
	Path string
	// Type is the file system type, such as "ext4" or "proc".
	Type string
}

// Mounts are those of this process's mount namespace, in the order they were made.
type Mounts []Mount

// Below returns the mounts strictly below a path without symbolic links.
func (all Mounts) Below(dir string) []Mount {
	var out []Mount
	for _, m := range all {
		if isBelow(m.Path, dir) {
			out = append(out, m)
		}
	}
	return out
}

// Forbidden reports whether a file system type is one of the kernel's own that no sandbox may see through a mount:
// they reach processes, devices and kernel state far beyond any file.
func Forbidden(fsType string) bool {
	switch fsType {
	case "proc", "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "debugfs", "tracefs", "securityfs", "configfs",
		"bpf", "efivarfs", "pstore", "mqueue", "fusectl", "binfmt_misc", "selinuxfs", "smackfs", "apparmorfs", "resctrl",
		"nsfs", "rpc_pipefs", "nfsd", "functionfs", "gadgetfs", "xenfs", "openpromfs", "autofs":
		return true
	}
	return false
}

// ReadMounts reads /proc/self/mountinfo.
func ReadMounts() (Mounts, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	defer f.Close()
	all, err := parseMountinfo(f)
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return all, nil
}

// parseMountinfo reads the format of proc_pid_mountinfo(5): "id parent major:minor root point options [tags...] - type
// source superoptions".
func parseMountinfo(r io.Reader) (Mounts, error) {
	var out Mounts
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			m, ok := parseMountLine(line)
			if !ok {
				return nil, fmt.Errorf("mountinfo line %q is not in the known format", line)
			}
			out = append(out, m)
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func parseMountLine(line string) (Mount, bool) {
	fields := strings.Split(line, " ")
	const firstTag = 6
	for i := firstTag; i+1 < len(fields); i++ {
		if fields[i] != "-" {
			continue
		}
		point, ok := unescape(fields[4])
		return Mount{Path: point, Type: fields[i+1]}, ok && strings.HasPrefix(point, "/") && fields[i+1] != ""
	}
	return Mount{}, false
}

// unescape undoes the kernel's mangle_path (fs/seq_file.c): space, tab, newline, backslash and '#' are a backslash and
// three octal digits.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String(), true
		}
		if len(s) < i+4 {
			return "", false
		}
		n := 0
		for _, d := range []byte(s[i+1 : i+4]) {
			if d < '0' || d > '7' {
				return "", false
			}
			n = n<<3 | int(d-'0')
		}
		if n > 0xff {
			return "", false
		}
		b.WriteString(s[:i])
		b.WriteByte(byte(n))
		s = s[i+4:]
	}
}
