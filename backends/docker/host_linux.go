package docker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// sameKernel reports whether an engine that says this of its machine runs on this one.
func sameKernel(hostname, kernel string) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	return hostname == unix.ByteSliceToString(u.Nodename[:]) && kernel == unix.ByteSliceToString(u.Release[:])
}

// memoryKills is how many processes this machine's kernel has killed for memory, in all (proc_vmstat(5), oom_kill, since
// Linux 4.13); -1 when it does not tell.
func memoryKills() int64 {
	data, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(data) {
		if v, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64)
			if err != nil {
				return -1
			}
			return n
		}
	}
	return -1
}

// hostID names this machine and, on it, this namespace of process ids: a caller in a container sees other ids than one
// beside it.
func hostID() string {
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		machine = []byte(bootID()) // it tells machines apart too; what an earlier boot left is then nobody's
	}
	name, _ := os.Hostname()
	ns, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256([]byte(string(bytes.TrimSpace(machine)) + "\x00" + name + "\x00" + ns))
	return hex.EncodeToString(sum[:8])
}

// bootID changes with each start of the machine (random(4)).
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// startTime is when a process was started, in the kernel's ticks since the boot (proc_pid_stat(5), field 22); "" when there
// is no such process. What /proc does not show may be there all the same (proc(5), hidepid): it is then not known.
func startTime(pid int) (start string, known bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return "", false
	}
	return string(fields[19]), true
}
