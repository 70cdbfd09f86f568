package host

import "github.com/soulacy/toolcell/sandbox"

// Rlimits bounds one process and, each for itself, the processes it starts. In every field 0 means that nothing is set,
// and a negative value is invalid.
type Rlimits struct {
	// CPUSeconds is the CPU time in seconds (RLIMIT_CPU): SIGXCPU then, SIGKILL a second later.
	CPUSeconds int
	// MemoryMB is the address space in MiB (RLIMIT_AS), of which a program usually needs more than memory. Not on macOS,
	// which does not keep it; see [Rlimits.Skipped].
	MemoryMB int
	// OpenFiles is the number of descriptors (RLIMIT_NOFILE).
	OpenFiles int
	// FileSizeMB is the size of a file in MiB (RLIMIT_FSIZE): SIGXFSZ where it is exceeded.
	FileSizeMB int
}

// Validate returns an error of kind [sandbox.KindInvalid] about the first limit that cannot be meant.
func (l Rlimits) Validate() error {
	for _, f := range []struct {
		name string
		n    int
	}{{"CPU seconds", l.CPUSeconds}, {"memory limit (MiB)", l.MemoryMB}, {"open files", l.OpenFiles}, {"file size (MiB)", l.FileSizeMB}} {
		if f.n < 0 || f.n > 1<<30 {
			return sandbox.Invalid(f.name, "%d is not between 0 and %d", f.n, 1<<30)
		}
	}
	return nil
}

// rlimits are those of a profile.
func (b *Backend) rlimits(p sandbox.ContainerProfile) Rlimits {
	if b.mode != Limits {
		return Rlimits{}
	}
	l := p.Limits
	return Rlimits{CPUSeconds: l.CPUSeconds, MemoryMB: l.MemoryMB, OpenFiles: l.OpenFiles, FileSizeMB: l.FileSizeMB}
}

// rlimit is one limit as setrlimit(2) has it.
type rlimit struct {
	name       string
	guarantee  sandbox.Guarantee
	resource   int
	soft, hard uint64
}

// cpuGrace is how long after SIGXCPU a program that goes on is killed, in seconds of CPU time.
const cpuGrace = 1

// list returns what has to be set, before it is lowered to what the process may have. The address space comes last: with
// it set, this program itself may not get memory any more.
func (l Rlimits) list() []rlimit {
	var out []rlimit
	add := func(n int, r rlimit) {
		if n > 0 {
			out = append(out, r)
		}
	}
	cpu, files := uint64(l.CPUSeconds), uint64(l.OpenFiles)
	size, memory := uint64(l.FileSizeMB)<<20, uint64(l.MemoryMB)<<20
	add(l.CPUSeconds, rlimit{"RLIMIT_CPU", sandbox.LimitCPUTime, rlimitCPU, cpu, cpu + cpuGrace})
	add(l.OpenFiles, rlimit{"RLIMIT_NOFILE", sandbox.LimitFiles, rlimitNofile, files, files})
	add(l.FileSizeMB, rlimit{"RLIMIT_FSIZE", sandbox.LimitFiles, rlimitFsize, size, size})
	if !memoryIsSkipped {
		add(l.MemoryMB, rlimit{"RLIMIT_AS", sandbox.LimitMemory, rlimitAS, memory, memory})
	}
	return out
}

// lowered returns the limit as a process with that hard limit can set it without privilege.
func (r rlimit) lowered(hard uint64) rlimit {
	r.soft, r.hard = min(r.soft, hard), min(r.hard, hard)
	return r
}

// Skipped names the limits of l that this system does not keep and that are therefore not set.
func (l Rlimits) Skipped() []string {
	if memoryIsSkipped && l.MemoryMB > 0 {
		return []string{"memory"}
	}
	return nil
}
