package cgroup

import "strconv"

// controller is what one kernel version of a controller takes and tells.
type controller struct {
	name  string
	files string // for the Report
	set   func(d dir, l Limits) error
	read  func(d dir, u *Usage) error
	// reads are the files that read reads.
	reads []string
	// check reads back what set wrote; it is for the trial at Open.
	check func(d dir, l Limits) error
}

// the limit of TCP buffers on v1, which are counted apart from memory
const (
	tcpShare = 8
	tcpFloor = 4 << 20
)

// The files that tell what a group used.
const (
	memPeak     = "memory.max_usage_in_bytes"
	memOOM      = "memory.oom_control"
	memPeakV2   = "memory.peak"
	memEventsV2 = "memory.events"
	pidsPeak    = "pids.peak"
	pidsEvents  = "pids.events"
	cpuUser     = "cpuacct.usage_user"
	cpuSystem   = "cpuacct.usage_sys"
	cpuStat     = "cpu.stat"
)

func controllersV1() []controller {
	return []controller{
		{Memory, "memory.limit_in_bytes, memory.memsw.limit_in_bytes", setMemoryV1, readMemoryV1, []string{memPeak, memOOM}, checkMemoryV1},
		{PIDs, "pids.max", setPIDs, readPIDs, []string{pidsPeak, pidsEvents}, checkPIDs},
		{CPU, "cpu.cfs_quota_us", setCPUV1, readNothing, nil, checkCPUV1},
		{CPUAcct, "cpuacct.usage", setNothing, readCPUV1, []string{cpuUser, cpuSystem}, checkNothing},
	}
}

func controllersV2() []controller {
	return []controller{
		{Memory, "memory.max, memory.swap.max, memory.oom.group", setMemoryV2, readMemoryV2, []string{memPeakV2, memEventsV2}, checkMemoryV2},
		{PIDs, "pids.max", setPIDs, readPIDs, []string{pidsPeak, pidsEvents}, checkPIDs},
		{CPU, "cpu.max", setCPUV2, readNothing, nil, checkCPUV2},
		{CPUAcct, "cpu.stat", setNothing, readCPUV2, []string{cpuStat}, checkNothing},
	}
}

func setNothing(dir, Limits) error   { return nil }
func readNothing(dir, *Usage) error  { return nil }
func checkNothing(dir, Limits) error { return nil }

func setPIDs(d dir, l Limits) error { return d.writeInt("pids.max", l.PIDs) }

func checkPIDs(d dir, l Limits) error { return d.expect("pids.max", strconv.FormatInt(l.PIDs, 10)) }

func readPIDs(d dir, u *Usage) (err error) {
	if u.MaxProcesses, err = d.readOptional(pidsPeak); err != nil {
		return err
	}
	u.PIDsMax, err = d.readKey(pidsEvents, "max")
	return err
}

// expect fails unless a file holds the value.
func (d dir) expect(name, value string) error {
	got, err := d.read(name)
	if err != nil {
		return err
	}
	if got != value {
		return d.fail("check", name, &mismatch{want: value, got: got})
	}
	return nil
}

type mismatch struct{ want, got string }

func (m *mismatch) Error() string {
	return "wrote " + strconv.Quote(m.want) + ", read " + strconv.Quote(m.got)
}
