package cgroup

import (
	"fmt"
	"math"
	"time"
)

// period is the length of one CPU accounting period in microseconds, the kernel's default.
const period = 100_000

// minQuota is the smallest quota in microseconds that the kernel takes (min_cfs_quota_period, kernel/sched/core.c).
const minQuota = 1000

// Limits are the upper bounds of one group. The zero value of a field means that its controller is not wanted.
// Values are comparable with ==.
type Limits struct {
	// MemoryBytes bounds the memory of the whole group, swap included. The kernel rounds down to whole pages.
	MemoryBytes int64
	// PIDs bounds the number of processes and threads.
	PIDs int64
	// CPUs bounds the CPU time per time, in cores; 0.01 is the smallest.
	CPUs float64
}

// Usage is what a group used until now.
type Usage struct {
	// CPUUser and CPUSystem are CPU time; both are 0 when Controller("cpuacct") returns an error.
	CPUUser, CPUSystem time.Duration
	// MaxMemory is the highest memory use in bytes; nil when the kernel has no figure.
	MaxMemory *int64
	// MaxProcesses is the highest number of processes and threads; nil when the kernel has no figure.
	MaxProcesses *int64
	// OOMKills counts processes that were killed because memory ran out.
	OOMKills int64
	// PIDsMax counts forks and clones that failed at the limit of processes.
	PIDsMax int64
}

// kind says which controllers a group needs; the pool keeps groups apart by it.
type kind struct{ memory, pids, cpu bool }

func (l Limits) kind() kind {
	return kind{memory: l.MemoryBytes > 0, pids: l.PIDs > 0, cpu: l.CPUs > 0}
}

// wants reports whether the limits need the named controller. CPU accounting is always wanted.
func (l Limits) wants(controller string) bool {
	k := l.kind()
	switch controller {
	case Memory:
		return k.memory
	case PIDs:
		return k.pids
	case CPU:
		return k.cpu
	}
	return true
}

func (l Limits) validate() error {
	switch {
	case l.MemoryBytes < 0:
		return fmt.Errorf("memory limit %d is negative", l.MemoryBytes)
	case l.PIDs < 0:
		return fmt.Errorf("limit of %d processes is negative", l.PIDs)
	case math.IsNaN(l.CPUs) || l.CPUs < 0 || l.CPUs > math.MaxInt32:
		return fmt.Errorf("limit of %v cores is out of range", l.CPUs)
	case l.CPUs > 0 && l.quota() < minQuota:
		return fmt.Errorf("limit of %v cores is below 0.01", l.CPUs)
	}
	return nil
}

// quota is the CPU limit in microseconds a period.
func (l Limits) quota() int64 { return int64(math.Round(l.CPUs * period)) }
