package cgroup

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const swapMax = "memory.swap.max"

func setMemoryV2(d dir, l Limits) error {
	if err := d.writeInt("memory.max", l.MemoryBytes); err != nil {
		return err
	}
	swap, err := d.has(swapMax)
	if err != nil {
		return err
	}
	if swap {
		if err := d.write(swapMax, "0"); err != nil {
			return err
		}
	}
	return d.write("memory.oom.group", "1")
}

func checkMemoryV2(d dir, l Limits) error {
	page := int64(os.Getpagesize())
	if err := d.expect("memory.max", strconv.FormatInt(l.MemoryBytes/page*page, 10)); err != nil {
		return err
	}
	return d.expect("memory.oom.group", "1")
}

func readMemoryV2(d dir, u *Usage) (err error) {
	if u.MaxMemory, err = d.readOptional(memPeakV2); err != nil {
		return err
	}
	u.OOMKills, err = d.readKey(memEventsV2, "oom_kill")
	return err
}

func cpuMax(l Limits) string { return fmt.Sprintf("%d %d", l.quota(), period) }

func setCPUV2(d dir, l Limits) error { return d.write("cpu.max", cpuMax(l)) }

func checkCPUV2(d dir, l Limits) error { return d.expect("cpu.max", cpuMax(l)) }

func readCPUV2(d dir, u *Usage) error {
	user, err := d.readKey(cpuStat, "user_usec")
	if err != nil {
		return err
	}
	system, err := d.readKey(cpuStat, "system_usec")
	if err != nil {
		return err
	}
	u.CPUUser, u.CPUSystem = time.Duration(user)*time.Microsecond, time.Duration(system)*time.Microsecond
	return nil
}

// enable lets the children of d have the controllers, as far as d has them itself. Each is asked for alone: one
// refusal must not hide another.
func enable(d dir, names []string) (enabled []string, err error) {
	have, err := d.read("cgroup.controllers")
	if err != nil {
		return nil, err
	}
	on, err := d.read("cgroup.subtree_control")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(strings.Fields(have), name) {
			continue
		}
		if !slices.Contains(strings.Fields(on), name) {
			if err := d.write("cgroup.subtree_control", "+"+name); err != nil {
				return nil, err
			}
		}
		enabled = append(enabled, name)
	}
	return enabled, nil
}

// delegated reports whether systemd marked the directory as another's to manage (CGROUP_DELEGATION.md of systemd:
// user.delegate since version 251, trusted.delegate before, which only root can read).
func delegated(d dir) bool {
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		var value [1]byte
		var n int
		err := d.control(func(fd int) (err error) {
			n, err = unix.Fgetxattr(fd, attr, value[:])
			return err
		})
		if err == nil && n == 1 && value[0] == '1' {
			return true
		}
	}
	return false
}
