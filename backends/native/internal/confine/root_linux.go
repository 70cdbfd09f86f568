package confine

import (
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// rootBytes bounds the private root, which holds directories, links and the small files of /etc.
const rootBytes = 16 << 20

// assembly is where the root is put together: a directory that every host has.
const assembly = "/proc"

// ownRoot makes the whole of a root, in the copy of the host's mounts, and lets that go.
func (c *compiler) ownRoot() {
	c.makeRoot()
	c.makeProc()
	c.makeDevices()
	c.makeTerminals()
	c.makeScratch()
	c.mountDeclared()
	c.sealRoot()
	c.enterRoot()
}

// preparedRoot adds to a prepared root what is the call's own.
func (c *compiler) preparedRoot() {
	c.usePrepared()
	c.makeProc()
	c.makeTerminals()
	c.makeScratch()
	c.mountDeclared()
	c.sealRoot()
}

// makeRoot mounts a private tmpfs, makes it the working directory and fills it with the image.
func (c *compiler) makeRoot() {
	c.For(string(sandbox.FSReadonlyRoot))
	c.stopPropagation()
	c.mountFS("tmpfs", assembly, fsAttr{}, option{"mode", "0755"}, option{"size", strconv.Itoa(rootBytes)})
	c.Do("into the new root", plan.Chdir, args(c.Str(assembly)))
	c.For(string(sandbox.FSNoHostFiles))
	for _, d := range c.spec.Image.Dirs {
		c.makeDirs(0o755, relative(d))
	}
	c.makeDirs(0o755, c.missing("dev", "etc", "proc", "tmp")...)
	for _, l := range c.spec.Image.Links {
		c.makeLink(relative(l.Path), l.Target)
	}
	for _, f := range append(rootfs.Synthetic(c.spec.Identity), c.spec.Image.Files...) {
		c.makeFile(relative(f.Path), f.Mode, f.Data)
	}
	for _, b := range c.spec.Image.Binds {
		if b.File {
			c.makeFile(relative(b.Target), 0o444, nil)
		}
		c.bind(b.Source, relative(b.Target), bindAttr{exec: b.Exec, recursive: b.Recursive})
	}
}

func (c *compiler) stopPropagation() {
	c.Do("no propagation to or from the host", plan.Mount, args(plan.Null(), c.Str("/"), plan.Null(), plan.Flag(unix.MS_REC|unix.MS_PRIVATE, "MS_REC|MS_PRIVATE"), plan.Null()))
}

// missing are those directories of the root that the image did not make.
func (c *compiler) missing(names ...string) []string {
	made := make(map[string]bool)
	for _, d := range c.spec.Image.Dirs {
		made[relative(d)] = true
	}
	var out []string
	for _, n := range names {
		if !made[n] {
			out = append(out, n)
		}
	}
	return out
}

// makeProc mounts a proc of the sandbox's own process namespace, writes what has to be written in it, and covers what
// no sandbox needs.
func (c *compiler) makeProc() {
	c.For(string(sandbox.ProcIsolated))
	c.mountFS("proc", "proc", fsAttr{})
	c.writeProc("no nested user namespaces", "proc/sys/user/max_user_namespaces", "0")
	// A caller that protects itself from the out-of-memory killer does not protect its tools. Lowering the value is
	// forbidden, and not needed: whoever has a higher one dies first all the same.
	c.writeProc("out-of-memory killer's choice", "proc/self/oom_score_adj", "500", plan.Tolerate(uint32(unix.EACCES)))
	for _, d := range c.spec.Kernel.MaskedDirs {
		c.makeFS("tmpfs", relative(d), bindAttr{}, []option{{"mode", "0555"}, {"size", "4096"}})
	}
	for _, f := range c.spec.Kernel.MaskedFiles {
		c.bind("/dev/null", relative(f), bindAttr{device: true})
	}
	for _, p := range c.spec.Kernel.ReadonlyProc {
		c.bind(relative(p), relative(p), bindAttr{})
	}
}

func (c *compiler) writeProc(name, file, value string, opts ...plan.Option) {
	fd := c.Call(name, plan.Openat, args(cwd(), c.Str(file), plan.Flag(unix.O_WRONLY|unix.O_CLOEXEC, "O_WRONLY|O_CLOEXEC"), plan.Num(0)))
	opts = append(opts, plan.Want(int64(len(value))))
	c.Call(name, plan.Write, args(fd.Arg(), c.Str(value), plan.Num(len(value))), opts...)
	c.Do("close it", plan.Close, args(fd.Arg()))
}

// maxTerminals bounds a sandbox's pseudo terminals, since they are counted for the whole machine (kernel.pty.max, 4096 less
// a reserve of 1024 that only the host's own devpts may use).
const maxTerminals = 32

// makeDevices makes what a minimal /dev has of the host, the harmless devices, with the usual links and the mount points of
// what is the call's own.
func (c *compiler) makeDevices() {
	c.For(string(sandbox.FSDeclaredWrites))
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		c.makeFile("dev/"+n, 0o666, nil)
		c.bind("/dev/"+n, "dev/"+n, bindAttr{writable: true, device: true})
	}
	c.makeDirs(0o755, "dev/pts", "dev/shm")
	for _, l := range []struct{ path, target string }{
		{"dev/ptmx", "pts/ptmx"},
		{"dev/fd", "/proc/self/fd"}, {"dev/stdin", "/proc/self/fd/0"}, {"dev/stdout", "/proc/self/fd/1"}, {"dev/stderr", "/proc/self/fd/2"},
	} {
		c.makeLink(l.path, l.target)
	}
}

// makeTerminals mounts the sandbox's own terminals.
func (c *compiler) makeTerminals() {
	c.For(string(sandbox.FSDeclaredWrites))
	c.mountFS("devpts", "dev/pts", fsAttr{device: true}, option{"ptmxmode", "0666"}, option{"mode", "0620"}, option{"max", strconv.Itoa(maxTerminals)})
}

// makeScratch mounts what may be written to: /tmp and /dev/shm, bounded in size and number of files.
func (c *compiler) makeScratch() {
	c.For(string(sandbox.FSNoexecScratch))
	for _, s := range []struct {
		target string
		bytes  int64
	}{{"tmp", c.spec.Scratch.TmpBytes}, {"dev/shm", c.spec.Scratch.ShmBytes}} {
		c.mountFS("tmpfs", s.target, fsAttr{exec: c.spec.Scratch.Exec}, option{"mode", "1777"},
			option{"size", strconv.FormatInt(s.bytes, 10)}, option{"nr_inodes", strconv.FormatInt(inodes(s.bytes), 10)})
	}
	for _, d := range rootfs.ScratchDirs() {
		c.makeDirs(0o700, relative(d))
	}
}

// sealRoot makes the root read-only. The mounts in it keep what each is.
func (c *compiler) sealRoot() {
	c.For(string(sandbox.FSReadonlyRoot))
	if !c.spec.Kernel.NewMountAPI {
		c.oldRestrict(".", bindAttr{})
		return
	}
	set, text := bindAttr{}.flags()
	a := c.Words("{"+text+"}", set, 0, 0, 0)
	c.Do("the root is read-only", plan.MountSetattr, args(cwd(), c.Str(""), plan.Flag(unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"), a.Ptr(), a.Len()))
}

// enterRoot makes the working directory the root and lets the host's tree go. pivot_root(".", ".") stacks the old root
// on the new one, and the unmount takes the topmost (pivot_root(2)).
func (c *compiler) enterRoot() {
	c.For(string(sandbox.FSNoHostFiles))
	c.Do("the new root", plan.PivotRoot, args(c.Str("."), c.Str(".")))
	c.Do("let the host's tree go", plan.Umount2, args(c.Str("."), plan.Flag(unix.MNT_DETACH, "MNT_DETACH")))
	c.Do("into it", plan.Chdir, args(c.Str("/")))
}

// parents are the directories above a path of the root, topmost first, the path itself not among them.
func parents(rel string) []string {
	var out []string
	for d := path.Dir(rel); d != "." && d != "/"; d = path.Dir(d) {
		out = append([]string{d}, out...)
	}
	return out
}
