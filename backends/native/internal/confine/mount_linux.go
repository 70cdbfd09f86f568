package confine

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// The sandbox's root is assembled as the working directory, so every path of it is relative and every path of the host
// is absolute: neither can be taken for the other.

// cwd is the working directory as a descriptor argument.
func cwd() plan.Arg { return plan.Flag(unix.AT_FDCWD, "AT_FDCWD") }

// option is a mount option of a new file system.
type option struct{ key, value string }

// fsAttr says how a new file system is mounted. All are nosuid and nodev, except a devpts, whose nodes are the point.
type fsAttr struct{ device, exec bool }

// mountFS makes a new file system and mounts it at a path of the root. An absolute path is the host's.
func (c *compiler) mountFS(fstype, target string, a fsAttr, options ...option) {
	c.makeFS(fstype, target, bindAttr{writable: true, device: a.device, exec: a.exec}, options)
}

func (c *compiler) makeFS(fstype, target string, b bindAttr, options []option) {
	if !c.spec.Kernel.NewMountAPI {
		c.oldFS(fstype, target, b, options)
		return
	}
	ctx := c.Call("new "+fstype, plan.Fsopen, args(c.Str(fstype), plan.Flag(unix.FSOPEN_CLOEXEC, "FSOPEN_CLOEXEC")))
	for _, o := range options {
		c.Do("its "+o.key, plan.Fsconfig, args(ctx.Arg(), plan.Flag(unix.FSCONFIG_SET_STRING, "FSCONFIG_SET_STRING"), c.Str(o.key), c.Str(o.value), plan.Num(0)))
	}
	c.Do("make it", plan.Fsconfig, args(ctx.Arg(), plan.Flag(unix.FSCONFIG_CMD_CREATE, "FSCONFIG_CMD_CREATE"), plan.Null(), plan.Null(), plan.Num(0)))
	set, text := b.flags()
	fd := c.Call("as a mount", plan.Fsmount, args(ctx.Arg(), plan.Flag(unix.FSMOUNT_CLOEXEC, "FSMOUNT_CLOEXEC"), plan.Flag(set, text)))
	c.moveTo(fd, target)
}

func (c *compiler) moveTo(t plan.Reg, target string) {
	c.Do("at "+shown(target), plan.MoveMount, args(t.Arg(), c.Str(""), cwd(), c.Str(target), plan.Flag(unix.MOVE_MOUNT_F_EMPTY_PATH, "MOVE_MOUNT_F_EMPTY_PATH")))
}

// shown is a path of the root as it will be seen inside.
func shown(target string) string { return "/" + strings.TrimPrefix(target, "/") }

// bindAttr says how a mount is restricted. The zero value is the strictest.
type bindAttr struct{ writable, exec, device, recursive bool }

func (b bindAttr) flags() (set uint64, text string) {
	set, text = unix.MOUNT_ATTR_NOSUID, "NOSUID"
	for _, f := range []struct {
		on   bool
		flag uint64
		text string
	}{
		{!b.device, unix.MOUNT_ATTR_NODEV, "|NODEV"},
		{!b.writable, unix.MOUNT_ATTR_RDONLY, "|RDONLY"},
		{!b.exec, unix.MOUNT_ATTR_NOEXEC, "|NOEXEC"},
	} {
		if f.on {
			set, text = set|f.flag, text+f.text
		}
	}
	return set, text
}

// bind shows a path of the host, or of the root itself, at a path of the root.
func (c *compiler) bind(source, target string, b bindAttr, opts ...plan.Option) {
	if !c.spec.Kernel.NewMountAPI {
		c.oldBind(source, target, b, opts...)
		return
	}
	flags, text := treeFlags(b)
	t := c.Call("clone "+source, plan.OpenTree, args(cwd(), c.Str(source), plan.Flag(flags, text)), opts...)
	c.restrict(t, b)
	c.moveTo(t, target)
}

func treeFlags(b bindAttr) (flags uint64, text string) {
	flags, text = unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC, "OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC"
	if b.recursive {
		flags, text = flags|unix.AT_RECURSIVE, text+"|AT_RECURSIVE"
	}
	return flags, text
}

// restrict makes a detached tree private and as restricted as it will be, in one call and before it is seen anywhere:
// a clone of a shared mount would otherwise show the sandbox's own mounts on the host.
func (c *compiler) restrict(t plan.Reg, b bindAttr) {
	set, text := b.flags()
	flags, ftext := unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"
	if b.recursive {
		flags, ftext = flags|unix.AT_RECURSIVE, ftext+"|AT_RECURSIVE"
	}
	// struct mount_attr (mount_setattr(2)): attr_set, attr_clr, propagation, userns_fd.
	a := c.Words("{"+text+", MS_PRIVATE}", set, 0, unix.MS_PRIVATE, 0)
	c.Do("private and restricted", plan.MountSetattr, args(t.Arg(), c.Str(""), plan.Flag(flags, ftext), a.Ptr(), a.Len()))
}

// makeDirs makes directories of the root.
func (c *compiler) makeDirs(mode uint32, paths ...string) {
	for _, p := range paths {
		c.Do("make "+shown(p), plan.Mkdirat, args(cwd(), c.Str(p), octal(mode)))
	}
}

// makeFile makes a file of the root.
func (c *compiler) makeFile(path string, mode uint32, data []byte) {
	flags := plan.Flag(unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, "O_CREAT|O_EXCL|O_WRONLY|O_CLOEXEC")
	fd := c.Call("make "+shown(path), plan.Openat, args(cwd(), c.Str(path), flags, octal(mode)))
	if len(data) > 0 {
		m := c.Bytes(data, "…")
		c.Call("its content", plan.Write, args(fd.Arg(), m.Ptr(), m.Len()), plan.Want(int64(len(data))))
	}
	c.Do("close it", plan.Close, args(fd.Arg()))
}

func (c *compiler) makeLink(path, target string) {
	c.Do("link "+shown(path), plan.Symlinkat, args(c.Str(target), cwd(), c.Str(path)))
}

func octal(mode uint32) plan.Arg { return plan.Flag(mode, "0"+strconv.FormatUint(uint64(mode), 8)) }

// relative is an absolute path inside as a path of the root.
func relative(inside string) string { return strings.TrimPrefix(inside, "/") }
