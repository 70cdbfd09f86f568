package cgroup

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	memLimit   = "memory.limit_in_bytes"
	memswLimit = "memory.memsw.limit_in_bytes"
	tcpLimit   = "memory.kmem.tcp.limit_in_bytes"
)

// setMemoryV1 works on a fresh group and on one that has limits. The kernel keeps limit <= memsw.limit at every step
// (mem_cgroup_resize_max), hence "unlimited" first.
func setMemoryV1(d dir, l Limits) error {
	memsw, err := d.has(memswLimit)
	if err != nil {
		return err
	}
	if memsw {
		if err := d.write(memswLimit, "-1"); err != nil {
			return err
		}
	}
	if err := d.writeInt(memLimit, l.MemoryBytes); err != nil {
		return err
	}
	if memsw {
		if err := d.writeInt(memswLimit, l.MemoryBytes); err != nil {
			return err
		}
	}
	if err := d.write("memory.swappiness", "0"); err != nil {
		return err
	}
	return setTCPV1(d, l)
}

// setTCPV1 bounds TCP buffers, which v1 counts apart (Documentation/admin-guide/cgroup-v1/memory.rst, 2.7) and which a
// sandbox can fill over its loopback. A kernel without the file has no separate account.
func setTCPV1(d dir, l Limits) error {
	found, err := d.has(tcpLimit)
	if err != nil || !found {
		return err
	}
	return d.writeInt(tcpLimit, max(l.MemoryBytes/tcpShare, tcpFloor))
}

func checkMemoryV1(d dir, l Limits) error {
	pages := l.MemoryBytes / int64(os.Getpagesize()) * int64(os.Getpagesize())
	want := strconv.FormatInt(pages, 10)
	if memsw, err := d.has(memswLimit); err != nil {
		return err
	} else if memsw {
		if err := d.expect(memswLimit, want); err != nil {
			return err
		}
	}
	return d.expect(memLimit, want)
}

func readMemoryV1(d dir, u *Usage) error {
	peak, err := d.readInt(memPeak)
	if err != nil {
		return err
	}
	u.MaxMemory = &peak
	u.OOMKills, err = d.readKey(memOOM, "oom_kill")
	return err
}

func setCPUV1(d dir, l Limits) error {
	if err := d.writeInt("cpu.cfs_period_us", period); err != nil {
		return err
	}
	return d.writeInt("cpu.cfs_quota_us", l.quota())
}

func checkCPUV1(d dir, l Limits) error {
	return d.expect("cpu.cfs_quota_us", strconv.FormatInt(l.quota(), 10))
}

func readCPUV1(d dir, u *Usage) error {
	user, err := d.readInt(cpuUser)
	if err != nil {
		return err
	}
	system, err := d.readInt(cpuSystem)
	if err != nil {
		return err
	}
	u.CPUUser, u.CPUSystem = time.Duration(user), time.Duration(system)
	return nil
}

// oomEvent returns an eventfd that counts the group's out-of-memory events (cgroup-v1/memory.rst, 10). The kernel keeps
// the registration as long as the eventfd is open.
func oomEvent(d dir) (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	event := os.NewFile(uintptr(fd), "oom event of "+d.path(""))
	control, err := d.openat(memOOM, unix.O_RDONLY)
	if err != nil {
		event.Close()
		return nil, err
	}
	defer unix.Close(control)
	if err := d.write("cgroup.event_control", fmt.Sprintf("%d %d", fd, control)); err != nil {
		event.Close()
		return nil, err
	}
	return event, nil
}

// useHierarchy makes the parent's limits and accounts cover its children. Kernels from 5.11 know nothing else
// (commit bef8620cd8e0); on older ones the switch is off and can be set only while there are no children.
func useHierarchy(d dir) error {
	const name = "memory.use_hierarchy"
	found, err := d.has(name)
	if err != nil || !found {
		return err
	}
	if on, err := d.readInt(name); err != nil || on == 1 {
		return err
	}
	return d.write(name, "1")
}
