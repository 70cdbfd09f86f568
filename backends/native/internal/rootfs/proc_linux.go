package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// MaskedProc returns the parts of /proc that no sandbox reads, those this kernel has: directories to be covered with
// an empty one and files to be covered with /dev/null. They are the ones that container engines mask. They tell about
// the hardware, keys of other users and timing of other processes. When a driver is loaded later, its directory is not
// in the answer, so do not keep it for long. One that is gone when its turn comes is a fault of the plan: the call is
// refused, and the next one asks again.
func MaskedProc() (dirs, files []string) {
	return present("/proc/acpi", "/proc/asound", "/proc/scsi"),
		present("/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/latency_stats", "/proc/sched_debug",
			"/proc/timer_list", "/proc/timer_stats")
}

// ReadonlyProc returns the parts of /proc that only root may write and that are made read-only all the same, those
// this kernel has.
func ReadonlyProc() []string {
	return present("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
}

// present leaves out what this kernel does not have. Only a certain "no such file" of a mounted /proc counts.
func present(paths ...string) []string {
	if _, err := os.Lstat("/proc/self"); err != nil {
		return paths
	}
	var out []string
	for _, p := range paths {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			out = append(out, p)
		}
	}
	return out
}

// Candidates returns the paths to try for a program, in order, as execvp(3) does: a name with a slash is tried alone,
// any other in each directory of path, in which an empty element is the working directory. An empty name has none.
func Candidates(argv0, path string) []string {
	if argv0 == "" {
		return nil
	}
	if strings.Contains(argv0, "/") {
		return []string{argv0}
	}
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		switch {
		case dir == "":
			out = append(out, "./"+argv0)
		case strings.HasSuffix(dir, "/"):
			out = append(out, dir+argv0)
		default:
			out = append(out, dir+"/"+argv0)
		}
	}
	return out
}
