package confine

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// mountDeclared shows what the profile declares. No mount point is ever made inside a directory of the host: targets
// lie in the private root or on the scratch, which openat2(2) is told to hold to.
func (c *compiler) mountDeclared() {
	c.For(string(sandbox.FSDeclaredWrites))
	made := c.directories()
	for _, d := range rootfs.ScratchDirs() {
		made[relative(d)] = true
	}
	for _, m := range c.spec.Mounts {
		if !c.spec.Prepared || onScratch(relative(m.Target)) {
			c.makeTarget(m, made)
		}
		if c.spec.Kernel.NewMountAPI {
			c.declare(m)
		} else {
			c.declareOld(m)
		}
	}
}

// directories are those that are there before the declared mounts' targets are made.
func (c *compiler) directories() map[string]bool {
	made := map[string]bool{"tmp": true, "dev": true, "etc": true, "proc": true}
	for _, d := range c.spec.Image.Dirs {
		made[relative(d)] = true
	}
	return made
}

// makeTarget makes the mount point and what is above it.
func (c *compiler) makeTarget(m Mount, made map[string]bool) {
	rel := relative(m.Target)
	for _, d := range parents(rel) {
		if !made[d] {
			c.makeDirs(0o755, d)
			made[d] = true
		}
	}
	if m.File {
		c.makeFile(rel, 0o444, nil)
	} else if !made[rel] {
		c.makeDirs(0o755, rel)
		made[rel] = true
	}
}

func (c *compiler) declare(m Mount) {
	b := bindAttr{writable: m.Writable, exec: m.Exec, recursive: m.Recursive}
	tree := plan.FD(m.FD)
	if m.FD == 0 {
		tree = c.openSource(m, b)
	}
	// The scratch is a mount of its own, so a target below it starts there.
	base, rel := cwd(), relative(m.Target)
	if below, ok := strings.CutPrefix(rel, "tmp/"); ok {
		base, rel = c.openDir("tmp"), below
	}
	how := c.Words("{O_PATH|O_CLOEXEC, 0, BENEATH|NO_SYMLINKS|NO_XDEV}", unix.O_PATH|unix.O_CLOEXEC, 0,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_XDEV)
	target := c.Call("the target "+m.Target, plan.Openat2, args(base, c.Str(rel), how.Ptr(), how.Len()))
	flags := plan.Flag(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH, "MOVE_MOUNT_F_EMPTY_PATH|MOVE_MOUNT_T_EMPTY_PATH")
	c.Do("at "+m.Target, plan.MoveMount, args(tree, c.Str(""), target.Arg(), c.Str(""), flags))
	c.probe(m, tree)
}

func (c *compiler) openDir(rel string) plan.Arg {
	flags := plan.Flag(unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, "O_PATH|O_DIRECTORY|O_NOFOLLOW|O_CLOEXEC")
	return c.Call("the root of "+shown(rel), plan.Openat, args(cwd(), c.Str(rel), flags, plan.Num(0))).Arg()
}

// openSource opens a source in the sandbox's own copy of the host's mounts, makes sure that it is what the caller saw
// there, and clones it. A path that was swapped in the meantime is a fault.
func (c *compiler) openSource(m Mount, b bindAttr) plan.Arg {
	changed := plan.Blame(plan.ClassRefused, "the mount's source was replaced while the call was set up; try again, and do not let others write to its parent directories")
	how := c.Words("{O_PATH|O_CLOEXEC, 0, NO_SYMLINKS|NO_MAGICLINKS}", unix.O_PATH|unix.O_CLOEXEC, 0,
		unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	fd := c.Call("open the source "+m.Source, plan.Openat2, args(cwd(), c.Str(m.Source), how.Ptr(), how.Len()), changed)
	c.sameFile(m, fd.Arg(), changed)
	flags, text := treeFlags(b)
	t := c.Call("clone it", plan.OpenTree, args(fd.Arg(), c.Str(""), plan.Flag(flags|unix.AT_EMPTY_PATH, text+"|AT_EMPTY_PATH")))
	c.restrict(t, b)
	return t.Arg()
}

// Offsets in struct statx (statx(2)).
const (
	statxSize  = 256
	statxInode = 0x20
	statxDev   = 0x88 // stx_dev_major and stx_dev_minor, 32 bits each
)

// sameFile demands that a descriptor is the file that the caller saw.
func (c *compiler) sameFile(m Mount, fd plan.Arg, changed plan.Option) {
	buf := c.Buffer(statxSize, "statx")
	c.Do("what it is", plan.Statx, args(fd, c.Str(""), plan.Flag(unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"), plan.Flag(unix.STATX_INO, "STATX_INO"), buf.Ptr()))
	dev := binary.NativeEndian.AppendUint32(nil, m.DevMajor)
	dev = binary.NativeEndian.AppendUint32(dev, m.DevMinor)
	c.Same("the inode that the caller saw", buf, statxInode, c.Words("inode", m.Inode), changed)
	c.Same("the device that the caller saw", buf, statxDev, c.Bytes(dev, "device"), changed)
}

// probe tries the access that the mount is for, as the user that the program will be: an id map with the wrong
// direction, or a directory of somebody else's, is accepted by every call before and fails only here. Init still has
// every capability over such files; access(2) as it was first made looks at the real ids without them, and AT_EACCESS
// would not (access_override_creds in fs/open.c).
func (c *compiler) probe(m Mount, tree plan.Arg) {
	mode, text := unix.R_OK, "R_OK"
	if m.Writable {
		mode, text = mode|unix.W_OK, text+"|W_OK"
	}
	if !m.File {
		mode, text = mode|unix.X_OK, text+"|X_OK"
	}
	fix := "the sandbox's user cannot use " + m.Source + ": check its owner and mode"
	c.Do("the program can use it", plan.Faccessat2, args(tree, c.Str(""), plan.Flag(mode, text), plan.Flag(unix.AT_EMPTY_PATH, "AT_EMPTY_PATH")),
		plan.Blame(plan.ClassRefused, fix))
}

// declareOld binds by path and looks afterwards at what was bound.
func (c *compiler) declareOld(m Mount) {
	changed := plan.Blame(plan.ClassRefused, "the mount's source was replaced while the call was set up; try again")
	rel := relative(m.Target)
	c.oldBind(m.Source, rel, bindAttr{writable: m.Writable, exec: m.Exec, recursive: m.Recursive})
	flags := plan.Flag(unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, "O_PATH|O_NOFOLLOW|O_CLOEXEC")
	fd := c.Call("what was bound", plan.Openat, args(cwd(), c.Str(rel), flags, plan.Num(0)))
	c.sameFile(m, fd.Arg(), changed)
	c.probe(m, fd.Arg())
}
