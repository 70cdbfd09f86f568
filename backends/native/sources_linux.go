package native

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

const newUser = unix.CLONE_NEWUSER

// idMap is the map of one id-mapped mount: the owner on disk, and who that is in the spawner's namespace.
type idMap struct{ uid, gid, outside uint32 }

// source is the source of a declared mount, opened once. What was checked is what is mounted: a root caller clones it
// from this descriptor, and for any other the sandbox compares with it.
type source struct {
	mount  sandbox.Mount
	path   string
	handle *os.File
	stat   unix.Statx_t
	file   bool
	// own says to mount it as its owner, so that the owner's private files can be used.
	own bool
	// tree is the detached clone for a root caller.
	tree *os.File
}

// protected are the places that no mount may show: the operator's, and the backend's own state.
func (b *Backend) protected() []string {
	return append(slices.Clone(b.config.Protected), cmp.Or(b.config.StateDir, defaultStateDir))
}

// device is what a file system is known by.
type device struct{ major, minor uint32 }

func (s *source) device() device { return device{s.stat.Dev_major, s.stat.Dev_minor} }

// deviceOf is the file system that a path of the host is on. It is false when there is nothing.
func deviceOf(path string) (device, bool) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return device{unix.Major(st.Dev), unix.Minor(st.Dev)}, err == nil
}

func (s *source) close() {
	for _, f := range []*os.File{s.handle, s.tree} {
		if f != nil {
			f.Close()
		}
	}
}

// openSource checks and opens a declared mount's source.
func openSource(places *sandbox.Places, m sandbox.Mount, protected []string) (*source, error) {
	path, err := places.Resolve(m, protected...)
	if err != nil {
		return nil, err
	}
	op := "mount " + m.Source
	if path != m.Source {
		// Whoever writes to a mounted directory can put a link where the caller's next mount starts.
		return nil, &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: op, Cause: errors.New("the way to it leads through a symbolic link"),
			Fix: "if that is meant, mount " + path + " itself",
		}
	}
	return openPlace(m)
}

// openPlace opens a source whose place and target have been judged: a declared mount's by [sandbox.Mount.Resolve], those of
// an image and of an interpreter by package rootfs. They may lie where no declared mount may, such as at /usr.
func openPlace(m sandbox.Mount) (*source, error) {
	op, path := "mount "+m.Source, m.Source
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: os.NewSyscallError("openat2", err)}
	}
	s := &source{mount: m, path: path, handle: os.NewFile(uintptr(fd), path), own: true}
	if err := s.inspect(op); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) inspect(op string) error {
	err := unix.Statx(int(s.handle.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &s.stat)
	if err != nil {
		return &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: os.NewSyscallError("statx", err)}
	}
	switch s.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.file = true
	case unix.S_IFDIR:
	default:
		return sandbox.Invalid(op, "neither a directory nor a regular file")
	}
	return nil
}

// checkSubmounts refuses what would be shown beyond the sources themselves.
func checkSubmounts(sources ...*source) error {
	if !slices.ContainsFunc(sources, func(s *source) bool { return !s.file }) {
		return nil
	}
	all, err := rootfs.ReadMounts()
	if err != nil {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "mount", Cause: err}
	}
	for _, s := range sources {
		if err := s.checkSubmounts(all.Below(s.path)); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) checkSubmounts(subs []rootfs.Mount) error {
	if s.file {
		return nil
	}
	op := "mount " + s.mount.Source
	for _, sub := range subs {
		if rootfs.Forbidden(sub.Type) {
			return &sandbox.Error{
				Kind: sandbox.KindInvalid, Op: op,
				Cause: fmt.Errorf("a %s is mounted below it, at %s", sub.Type, sub.Path), Fix: "mount a directory without it",
			}
		}
	}
	if len(subs) > 0 && !s.mount.Recursive {
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: op,
			Cause: fmt.Errorf("something is mounted below it, at %s", subs[0].Path), Fix: "make the mount recursive, or mount a directory without it",
		}
	}
	return nil
}

// clone makes the detached tree of a root caller: private, restricted, and mapped so that the owner on disk is the
// sandbox's user, all in one call and before anything sees it.
// withUserNS calls its argument with the namespace that holds the map.
func (s *source) clone(withUserNS func(func(*os.File) error) error) error {
	op := "mount " + s.mount.Source
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH)
	setFlags := uint(unix.AT_EMPTY_PATH)
	if s.mount.Recursive {
		flags, setFlags = flags|unix.AT_RECURSIVE, setFlags|unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(int(s.handle.Fd()), "", flags)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: op, Guarantee: sandbox.PrivNonroot, Cause: os.NewSyscallError("open_tree", err),
			Fix: "a mount of root's is mapped to the sandbox's user, which takes CAP_SYS_ADMIN and the new mount API: in a container run it with --cap-add SYS_ADMIN, or as an ordinary user who owns the directory; allow open_tree, move_mount and mount_setattr in its filter; use Linux 5.12 or newer",
		}
	}
	if err != nil {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: op, Cause: os.NewSyscallError("open_tree", err)}
	}
	s.tree = os.NewFile(uintptr(fd), s.path)
	attr := unix.MountAttr{Attr_set: s.attributes(), Propagation: unix.MS_PRIVATE}
	if !s.own {
		return s.setattr(op, setFlags, &attr)
	}
	err = withUserNS(func(ns *os.File) error {
		mapped := attr
		mapped.Attr_set |= unix.MOUNT_ATTR_IDMAP
		mapped.Userns_fd = uint64(ns.Fd())
		return unix.MountSetattr(fd, "", setFlags, &mapped)
	})
	var own *sandbox.Error
	switch {
	case errors.As(err, &own):
		return err // the namespace could not be had
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL) && !s.mount.Writable:
		return s.setattr(op, setFlags, &attr) // unmapped: whether the program can read it is tried in the sandbox
	case errors.Is(err, unix.EINVAL):
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: op, Guarantee: sandbox.PrivNonroot,
			Cause: errors.New("its file system does not support id-mapped mounts, so the sandbox's user cannot write as the owner"),
			Fix:   "mount a directory on ext4, xfs, btrfs or tmpfs, or mount it read-only",
		}
	default:
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: op, Cause: os.NewSyscallError("mount_setattr", err)}
	}
}

func (s *source) setattr(op string, flags uint, attr *unix.MountAttr) error {
	if err := unix.MountSetattr(int(s.tree.Fd()), "", flags, attr); err != nil {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: op, Cause: os.NewSyscallError("mount_setattr", err)}
	}
	return nil
}

func (s *source) attributes() uint64 {
	set := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if !s.mount.Writable {
		set |= unix.MOUNT_ATTR_RDONLY
	}
	if !s.mount.Exec {
		set |= unix.MOUNT_ATTR_NOEXEC
	}
	return set
}

// confineMount is the source as the plan's compiler takes it; fd is where its tree will be, or 0.
func (s *source) confineMount(fd int) confine.Mount {
	return confine.Mount{
		FD: fd, Source: s.path, DevMajor: s.stat.Dev_major, DevMinor: s.stat.Dev_minor, Inode: s.stat.Ino,
		Target: s.mount.Target, File: s.file,
		Writable: s.mount.Writable, Exec: s.mount.Exec, Recursive: s.mount.Recursive,
	}
}

// mayHoldMounts reports whether the sandbox's mounts may outlast the call for the moment that letting go of them takes. A
// caller may want to take a source's file system away next, as it does with an image on a loop device; one that this
// machine's own programs lie on stays.
func (k *call) mayHoldMounts() bool {
	if len(k.sources) == 0 {
		return true
	}
	var programs []device
	for _, b := range k.image.Binds {
		if !b.Exec {
			continue
		}
		if d, ok := deviceOf(b.Source); ok {
			programs = append(programs, d)
		}
	}
	return !slices.ContainsFunc(k.sources, func(s *source) bool { return !slices.Contains(programs, s.device()) })
}
