package supervise

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
)

// keepHeapFromForks marks the anonymous memory of the process, which is the Go runtime's and its heap's, as not to be
// copied by a fork (MADV_DONTFORK). A child runs on the Forker's own memory and needs none of it; copying its page
// tables, and taking write access from the parent for it, was a third of a fork's price. It is only that: what cannot be
// marked, or is mapped later, is copied as usual.
func keepHeapFromForks(f *forked.Forker) {
	storage, ok := threadStorage()
	if !ok {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	first, last := f.Memory()
	var end uintptr // of the mapping before
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		m, ok := parseMapping(lines.Text())
		// What follows the program's own data without a gap is its zeroed data, which the child does use.
		used := m.start == end || m.overlaps(first, last) || m.overlaps(storage, storage+1)
		if ok && m.anonymous && !used {
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTFORK)
		}
		if ok && (!m.anonymous || m.start == end) {
			end = m.end
		}
	}
}

// mapping is one line of /proc/PID/maps (proc_pid_maps(5)).
type mapping struct {
	start, end uintptr
	anonymous  bool
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
	m.anonymous = fields[4] == "0" && (name == "" || name == "[stack]" || strings.HasPrefix(name, "[anon:"))
	return m, true
}
