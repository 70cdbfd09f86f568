package confine

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// The old mount API, for hosts where an outer filter hides the new one (a kernel that has Landlock has both). It mounts
// in place, so a bind is visible for a moment before it is restricted: nothing but the plan runs then, and its mount
// namespace is private already. A restriction that the host's own mount locks and that the profile does not ask for
// (noexec under a bind that should execute) is EPERM, and so a fault.

func (b bindAttr) oldFlags() (flags uint64, text string) {
	flags, text = unix.MS_NOSUID, "MS_NOSUID"
	for _, f := range []struct {
		on   bool
		flag uint64
		text string
	}{{!b.device, unix.MS_NODEV, "|MS_NODEV"}, {!b.writable, unix.MS_RDONLY, "|MS_RDONLY"}, {!b.exec, unix.MS_NOEXEC, "|MS_NOEXEC"}} {
		if f.on {
			flags, text = flags|f.flag, text+f.text
		}
	}
	return flags, text
}

func (c *compiler) oldFS(fstype, target string, b bindAttr, options []option) {
	var opts []string
	for _, o := range options {
		opts = append(opts, o.key+"="+o.value)
	}
	flags, text := b.oldFlags()
	c.Do(fstype+" at "+shown(target), plan.Mount, args(c.Str(fstype), c.Str(target), c.Str(fstype), plan.Flag(flags, text), c.Str(strings.Join(opts, ","))))
}

// oldBind binds without what is mounted below the source: the old API could show it, but not restrict it. Where
// something is, the kernel refuses a bind that would uncover what is under it (has_locked_children() in fs/namespace.c).
func (c *compiler) oldBind(source, target string, b bindAttr, opts ...plan.Option) {
	if b.recursive {
		opts = append(opts, plan.Blame(plan.ClassRefused, "what is mounted below "+source+" can only be shown with the new mount API (Linux 5.12): allow it in the filter of the container or service this runs in"))
	}
	c.Do("bind "+source, plan.Mount, args(c.Str(source), c.Str(target), plan.Null(), plan.Flag(unix.MS_BIND, "MS_BIND"), plan.Null()), opts...)
	c.oldRestrict(target, b, opts...)
}

// oldRestrict restricts a bind in place.
func (c *compiler) oldRestrict(target string, b bindAttr, opts ...plan.Option) {
	flags, text := b.oldFlags()
	c.Do("restrict it", plan.Mount, args(plan.Null(), c.Str(target), plan.Null(), plan.Flag(unix.MS_REMOUNT|unix.MS_BIND|flags, "MS_REMOUNT|MS_BIND|"+text), plan.Null()), opts...)
}
