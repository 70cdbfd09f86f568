package docker

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// startTime is when a process was started; "" when there is no such process, or it has ended. It is not known of one that
// may not be opened; an id that no process has is an invalid parameter (OpenProcess).
func startTime(pid int) (start string, known bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return "", false
	}
	if exited.HighDateTime|exited.LowDateTime != 0 {
		return "", true
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}
