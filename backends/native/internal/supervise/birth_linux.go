package supervise

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// planFDs is the place of the plan's first descriptor among those of the child.
const planFDs = plan.FirstFD - plan.ChannelFD

// bear forks the call's init, in its cgroup if it can be born there. Then what the plan has it write to leads nowhere.
func (s *Supervisor) bear(c *call, fr *forked.Request) error {
	if c.cgroup < 0 || s.unborn {
		c.reply.Joined = s.unborn
		return s.forkInit(c, fr)
	}
	if s.null < 0 {
		return s.forkInit(c, fr) // this call joins, and the next one tries again
	}
	born := *fr
	born.Flags |= unix.CLONE_INTO_CGROUP
	born.Cgroup, born.FDs[planFDs] = int32(c.cgroup), int32(s.null)
	unborn := s.forkInit(c, &born)
	if unborn == nil {
		return nil
	}
	err := s.forkInit(c, fr)
	if err == nil && !passing(unborn) {
		s.unborn = true // by what this kernel lacks, or its rights forbid
	}
	c.reply.Joined = s.unborn
	return err
}

// passing reports whether an error of clone3(2) says nothing of the next call.
func passing(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

func (s *Supervisor) forkInit(c *call, fr *forked.Request) error {
	var errno syscall.Errno
	if c.pid, c.pidfd, errno = s.forker.Fork(fr); errno != 0 {
		return errno
	}
	return nil
}

// openNull opens what can be written to and leads nowhere, before the first call that needs it leaves the host's mounts.
func (s *Supervisor) openNull(c *call) {
	if c.cgroup < 0 || s.null >= 0 {
		return
	}
	if fd, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0); err == nil {
		s.null = fd
	}
}
