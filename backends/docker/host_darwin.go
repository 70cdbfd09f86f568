package docker

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// startTime is when a process was started; "" when there is no such process. It is not known of one that cannot be seen.
func startTime(pid int) (start string, known bool) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return "", errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}
	t := p.Proc.P_starttime
	return strconv.FormatInt(t.Sec, 10) + "." + strconv.FormatInt(int64(t.Usec), 10), true
}
