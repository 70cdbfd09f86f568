package docker

import (
	"strconv"

	"golang.org/x/sys/windows"
)

// startTime is when a process was started; "" when there is no such process, or it has ended.
func startTime(pid int) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return ""
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil || exited.HighDateTime|exited.LowDateTime != 0 {
		return ""
	}
	return strconv.FormatInt(created.Nanoseconds(), 10)
}
