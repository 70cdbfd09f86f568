package docker

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// submount is a mount point and what is mounted there.
type submount struct {
	path, kind string
	// kernel says that the file system is one of the kernel's own, which reach far beyond files.
	kernel bool
}

// kernelTypes are file systems that show processes, devices and the kernel's state. Those of files that a device or a
// server holds are not among them.
var kernelTypes = map[string]bool{
	"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "devtmpfs": true, "devpts": true, "debugfs": true, "tracefs": true,
	"securityfs": true, "configfs": true, "bpf": true, "efivarfs": true, "pstore": true, "mqueue": true, "fusectl": true,
	"binfmt_misc": true, "selinuxfs": true, "nsfs": true, "rpc_pipefs": true, "autofs": true,
}

// submounts returns what is mounted strictly below a path without symbolic links (proc_pid_mountinfo(5)).
func submounts(dir string) ([]submount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	defer f.Close()
	var out []submount
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(types) == 0 {
			return nil, fmt.Errorf("list mounts: %q is no line of mountinfo", lines.Text())
		}
		path := unescape(fields[4])
		if strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
			out = append(out, submount{path: path, kind: types[0], kernel: kernelTypes[types[0]]})
		}
	}
	return out, lines.Err()
}

// unescape undoes mountinfo's octal escapes of white space and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// checkOwner refuses a source that the program could not use, before the program finds out.
func checkOwner(op string, m sandbox.Mount, e *engine, u user) error {
	var st unix.Stat_t
	if err := unix.Stat(m.Source, &st); err != nil {
		return &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: &fs.PathError{Op: "stat", Path: m.Source, Err: err}}
	}
	refuse := func(cause error, fix string) error {
		return &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Cause: cause, Fix: fix}
	}
	chown := fmt.Sprintf("chown -R %d:%d %s", u.uid, u.gid, shellQuote(m.Source))
	switch {
	case u.image:
		return nil // whoever that is
	case m.Writable && e.remapped:
		return refuse(fmt.Errorf("the engine maps users to others of the host, so what is written would not be uid %d's", u.uid),
			"use rootless podman, or an engine without a user map")
	case m.Writable && st.Uid != u.uid:
		return refuse(fmt.Errorf("it is writable and belongs to uid %d, and the program runs as %d:%d", st.Uid, u.uid, u.gid), chown)
	case !readable(st, u, e.remapped):
		return refuse(fmt.Errorf("its mode %#o and owner %d:%d keep the program's user, %d:%d, out", st.Mode&0o7777, st.Uid, st.Gid, u.uid, u.gid),
			chown+", or let others read it: chmod -R o+rX "+shellQuote(m.Source))
	default:
		return nil
	}
}

// readable reports whether the mode lets the user in.
func readable(st unix.Stat_t, u user, remapped bool) bool {
	want := uint32(0o4)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		want = 0o5
	}
	bits := st.Mode
	switch {
	case remapped:
	case st.Uid == u.uid:
		bits >>= 6
	case st.Gid == u.gid:
		bits >>= 3
	}
	return bits&want == want
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
