package supervise

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
)

// planFDs is the place of the plan's first descriptor among those of the child.
const planFDs = 4

// bear forks the call's init, in its cgroup if it can be born there. Then what the plan has it write to leads nowhere.
func (s *Supervisor) bear(c *call, fr *forked.Request) error {
	if c.cgroup < 0 {
		return s.forkInit(c, fr)
	}
	var unborn error
	if !s.unborn && s.openNull() {
		born := *fr
		born.Flags |= unix.CLONE_INTO_CGROUP
		born.Cgroup, born.FDs[planFDs] = int32(c.cgroup), int32(s.null)
		if unborn = s.forkInit(c, &born); unborn == nil {
			return nil
		}
	}
	c.reply.Joined = true
	err := s.forkInit(c, fr)
	if err == nil && !errors.Is(unborn, unix.EAGAIN) && !errors.Is(unborn, unix.ENOMEM) {
		s.unborn = true // by what this kernel lacks, or its rights forbid, so the next calls need not try
	}
	return err
}

func (s *Supervisor) forkInit(c *call, fr *forked.Request) error {
	var errno syscall.Errno
	if c.pid, c.pidfd, errno = s.forker.Fork(fr); errno != 0 {
		return errno
	}
	return nil
}

// openNull reports whether there is something to write to that leads nowhere.
func (s *Supervisor) openNull() bool {
	if s.null < 0 {
		if fd, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0); err == nil {
			s.null = fd
		}
	}
	return s.null >= 0
}
