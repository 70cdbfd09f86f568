package docker

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// startTime is when a process was started; "" when there is no such process.
func startTime(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return ""
	}
	t := p.Proc.P_starttime
	return strconv.FormatInt(t.Sec, 10) + "." + strconv.FormatInt(int64(t.Usec), 10)
}
