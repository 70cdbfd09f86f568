package confine

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// Root is what calls that differ in nothing else of their root can share: the image, the devices, the mount points. It
// holds nothing that a program can write to. A process that carries out its plan ([CompileRoot]) keeps a mount namespace
// in which it is the only thing there is; init starts in a copy of that one (Spec.Prepared), in which every mount is
// locked, since a namespace with more rights made it (mount_namespaces(7)), and adds what is the call's own.
type Root struct {
	// Identity is who programs are inside; /etc/passwd and its like tell.
	Identity rootfs.Identity
	// Image is as in [Spec].
	Image *rootfs.Image
	// Targets are the mount points of declared mounts, but for those on the scratch.
	Targets []Target
}

// RootNamespaces are the clone flags of the process that prepares a root.
const RootNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWPID

// Target is a mount point.
type Target struct {
	// Path is the path inside.
	Path string
	// File says that it is a file and not a directory.
	File bool
}

// AddTarget adds the mount point of a declared mount, unless it lies on the scratch, where each call makes its own.
func (r *Root) AddTarget(inside string, file bool) {
	if !onScratch(relative(inside)) {
		r.Targets = append(r.Targets, Target{Path: inside, File: file})
	}
}

// fitsPrepared returns an error when s cannot begin in a prepared root, in which there is nothing of the host to be found by
// a path.
func (s Spec) fitsPrepared() error {
	if !s.Kernel.NewMountAPI {
		return errors.New("a prepared root needs the new mount API")
	}
	for _, m := range s.Mounts {
		if m.FD == 0 {
			return fmt.Errorf("no descriptor for the mount at %s, and its source is not in a prepared root", m.Target)
		}
	}
	return nil
}

// onScratch reports whether a path of the root lies on /tmp, which is each call's own.
func onScratch(rel string) bool { return strings.HasPrefix(rel, "tmp/") }

// CompileRoot returns the plan of the process that prepares r: it makes the root in its own mount namespace, says that it
// is done as an armed sandbox does, and waits to be killed. It needs the new mount API.
//
// The process has a process namespace of its own, whose proc stays below those of the sandboxes, since the kernel allows
// a new proc only where one is that nothing covers (mount_too_revealing() in fs/namespace.c). It shows no process once
// this one is gone.
func CompileRoot(r Root) (*plan.Plan, error) {
	c := &compiler{spec: Spec{Kernel: Kernel{NewMountAPI: true}, Identity: r.Identity, Image: r.Image}}
	c.Grow(c.spec.room())
	c.For("")
	c.Wait("go on", plan.ChannelFD, c.Buffer(1, "go"))
	c.Call("umask", plan.Umask, args(plan.Flag(0o022, "022")))
	c.makeRoot()
	c.For(string(sandbox.ProcIsolated))
	c.mountFS("proc", "proc", fsAttr{})
	c.makeDevices()
	c.For(string(sandbox.FSDeclaredWrites))
	made := c.directories()
	for _, t := range r.Targets {
		c.makeTarget(Mount{Target: t.Path, File: t.File}, made)
	}
	c.sealRoot()
	c.For(string(sandbox.FSReadonlyRoot))
	flags, text := bindAttr{}.oldFlags()
	c.Do("nor can it be made writable", plan.Mount, args(plan.Null(), c.Str("."), plan.Null(), plan.Flag(unix.MS_REMOUNT|flags, "MS_REMOUNT|"+text), plan.Null()))
	c.enterRoot()
	c.For("")
	c.announce()
	c.Wait("wait to be killed", plan.ChannelFD, c.Buffer(8, "never"))
	return c.Shape()
}

// usePrepared begins in the copy of a prepared root.
func (c *compiler) usePrepared() {
	c.For(string(sandbox.FSReadonlyRoot))
	c.stopPropagation()
	c.Do("into the root", plan.Chdir, args(c.Str("/")))
	// The host's root would say EACCES, or let it be made.
	c.Call("it is a prepared one: nothing can be made in it", plan.Mkdirat, args(cwd(), c.Str(".toolcell"), octal(0o700)), plan.Want(noResult), plan.Tolerate(uint32(unix.EROFS)))
}
