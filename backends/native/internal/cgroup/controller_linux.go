package cgroup

import "strconv"

// controller is what one kernel version of a controller takes and tells.
type controller struct {
	name  string
	files string // for the Report
	set   func(d dir, l Limits) error
	read  func(d dir, u *Usage) error
	// check reads back what set wrote; it is for the trial at Open.
	check func(d dir, l Limits) error
}

// the limit of TCP buffers on v1, which are counted apart from memory
const (
	tcpShare = 8
	tcpFloor = 4 << 20
)

func controllersV1() []controller {
	return []controller{
		{Memory, "memory.limit_in_bytes, memory.memsw.limit_in_bytes", setMemoryV1, readMemoryV1, checkMemoryV1},
		{PIDs, "pids.max", setPIDs, readPIDs, checkPIDs},
		{CPU, "cpu.cfs_quota_us", setCPUV1, readNothing, checkCPUV1},
		{CPUAcct, "cpuacct.usage", setNothing, readCPUV1, checkNothing},
	}
}

func controllersV2() []controller {
	return []controller{
		{Memory, "memory.max, memory.swap.max, memory.oom.group", setMemoryV2, readMemoryV2, checkMemoryV2},
		{PIDs, "pids.max", setPIDs, readPIDs, checkPIDs},
		{CPU, "cpu.max", setCPUV2, readNothing, checkCPUV2},
		{CPUAcct, "cpu.stat", setNothing, readCPUV2, checkNothing},
	}
}

func setNothing(dir, Limits) error   { return nil }
func readNothing(dir, *Usage) error  { return nil }
func checkNothing(dir, Limits) error { return nil }

func setPIDs(d dir, l Limits) error { return d.writeInt("pids.max", l.PIDs) }

func checkPIDs(d dir, l Limits) error { return d.expect("pids.max", strconv.FormatInt(l.PIDs, 10)) }

func readPIDs(d dir, u *Usage) (err error) {
	if u.MaxProcesses, err = d.readOptional("pids.peak"); err != nil {
		return err
	}
	u.PIDsMax, err = d.readKey("pids.events", "max")
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
