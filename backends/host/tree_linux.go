package host

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// survivors is why life.no-survivors is absent.
const survivors = "descendants are killed, but not what another program starts at the program's wish, what has become another user's, or anything once the supervisor is killed"

// self is this program, also when its file has been replaced.
func self() (string, error) { return "/proc/self/exe", nil }

// adoptOrphans makes this process the parent of every descendant whose own parent has ended.
func adoptOrphans() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// programAttributes give the program a session of its own, and its end to the supervisor's.
func programAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
}

func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// closeRangeOnExec is close_range(2), from Linux 5.11 on with this flag.
func closeRangeOnExec() error {
	return unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// groupLeft: a process without a child has no descendant, since orphans would be its children.
func (s *supervisor) groupLeft() bool { return false }

// process is a line of /proc: two with the same start are the same process.
type process struct {
	pid, parent int
	start       string
}

// killTree kills every descendant of this process that /proc shows, or the group where it shows none.
func killTree(group int) {
	children, err := processes()
	if err != nil {
		_ = syscall.Kill(-group, syscall.SIGKILL)
		return
	}
	killBelow(os.Getpid(), children)
}

// killBelow kills from above, so that what is killed starts no more of what comes after.
func killBelow(parent int, children map[int][]process) {
	for _, p := range children[parent] {
		p.kill()
		killBelow(p.pid, children)
	}
}

// kill kills the process, and never another that has its number by now.
func (p process) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.3, or filtered
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		return
	}
	if err != nil {
		return // it has ended
	}
	defer unix.Close(fd)
	if now, err := readProcess(p.pid); err == nil && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // ESRCH: it has ended; EPERM: it survives, and that is told
	}
}

// processes lists every process by its parent.
func processes() (map[int][]process, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // else it has ended
			children[p.parent] = append(children[p.parent], p)
		}
	}
	if len(children) == 0 {
		return nil, errors.New("/proc shows no process")
	}
	return children, nil
}

// readProcess reads /proc/PID/stat (proc_pid_stat(5)); the second field, in parentheses, may hold anything.
func readProcess(pid int) (process, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	const parentAt, startAt = 4 - 3, 22 - 3 // counted from the third field
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) <= startAt {
		return process{}, errors.New("stat is too short")
	}
	parent, err := strconv.Atoi(fields[parentAt])
	return process{pid: pid, parent: parent, start: fields[startAt]}, err
}
