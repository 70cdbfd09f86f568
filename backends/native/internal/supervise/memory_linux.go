package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
)

// keepHeapFromForks marks the anonymous memory of the process, which is the Go runtime's and its heap's, as not to be
// copied by a fork (MADV_DONTFORK). A child runs on the Forker's own memory and needs none of it; copying its page
// tables, and taking write access from the parent for it, was a third of a fork's price. For the heap it is only that:
// what cannot be marked, or is mapped later, is copied as usual. The stack is another matter, since a sandbox can read
// its init's arguments (/proc/1/cmdline): without it marked there is an error.
func keepHeapFromForks(f *forked.Forker) error {
	storage, ok := threadStorage()
	if !ok {
		return errors.New("the thread's own storage is not known")
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer maps.Close()
	errStack := errors.New("/proc/self/maps shows no stack")
	first, last := f.Memory()
	var end uintptr // of the mapping before
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		m, ok := parseMapping(lines.Text())
		// What follows the program's own data without a gap is its zeroed data, which the child does use.
		used := m.start == end || m.overlaps(first, last) || m.overlaps(storage, storage+1)
		if ok && m.anonymous && !used {
			_, _, errno := unix.RawSyscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTFORK)
			if m.stack {
				errStack = errorOf(errno)
			}
		}
		if ok && (!m.anonymous || m.start == end) {
			end = m.end
		}
	}
	return errors.Join(lines.Err(), errStack)
}

// errorOf is nil for 0.
func errorOf(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError("madvise", errno)
}

// mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type mapping struct {
	start, end       uintptr
	anonymous, stack bool
}

func (m mapping) overlaps(start, end uintptr) bool { return m.start < end && start < m.end }

func parseMapping(line string) (mapping, bool) {
	var m mapping
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return m, false
	}
	if _, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); err != nil {
		return m, false
	}
	// A name in brackets is the kernel's, the vdso for one. Go names its own "[anon: Go: …]". The main thread's stack has
	// the process's arguments and environment, which are no child's business.
	name := strings.Join(fields[5:], " ")
	m.stack = name == "[stack]"
	m.anonymous = fields[4] == "0" && (name == "" || m.stack || strings.HasPrefix(name, "[anon:"))
	return m, true
}
