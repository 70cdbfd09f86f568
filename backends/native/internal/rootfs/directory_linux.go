package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/soulacy/toolcell/sandbox"
)

// Directory returns an unpacked root directory as an image: its top-level directories are bound, its top-level links
// and the entries of its /etc are taken over one by one. Its /dev, /proc, /sys, /tmp and /run, whatever they are, and the
// files of [Synthetic] are left out, since every sandbox makes those itself. The directory is refused when it is a
// place that no sandbox may see (see [sandbox.Mount.Resolve], which also judges the protected paths), when its /etc is
// not a directory, or when something is mounted in it.
//
// No link of the tree is followed: what it holds is judged by what lies in it, and a link that leads out of it leads,
// inside, to the sandbox's own root.
func Directory(name, dir string, protected ...string) (Image, error) {
	op := fmt.Sprintf("image %q", name)
	real, err := sandbox.Mount{Source: dir, Target: "/image", Exec: true}.Resolve(protected...)
	if err != nil {
		return Image{}, fmt.Errorf("%s: %w", op, err)
	}
	t, err := openTree(real)
	if err != nil {
		return Image{}, sandbox.Invalid(op, "%w", err)
	}
	defer t.Close()
	b, err := newBuilder(t, name)
	if err != nil {
		return Image{}, fmt.Errorf("%s: %w", op, err)
	}
	if err := b.unpacked(); err != nil {
		return Image{}, sandbox.Invalid(op, "%w", err)
	}
	return b.img, nil
}

func (b *builder) unpacked() error {
	top, err := b.entries("/")
	if err != nil {
		return err
	}
	for _, p := range top {
		switch p {
		case "/dev", "/proc", "/sys", "/tmp", "/run":
			continue
		case "/etc":
			err = b.etc()
		default:
			err = b.entry(p)
		}
		if err != nil {
			return err
		}
	}
	if len(b.img.Binds) == 0 {
		return errors.New("it holds no directory: it is no root directory")
	}
	b.img.Dirs = append(b.img.Dirs, "/run")
	b.img, err = b.finish()
	return err
}

// etc takes over the entries of the image's /etc. A directory in place of the whole is not bound, since the files
// that the sandbox makes there could then not be written, and a mount point may not be made in it.
func (b *builder) etc() error {
	info, err := b.lstat("/etc")
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("its /etc is not a directory")
	}
	all, err := b.entries("/etc")
	if err != nil {
		return err
	}
	for _, p := range all {
		if isSynthetic(p) {
			continue
		}
		if err := b.entry(p); err != nil {
			return err
		}
	}
	return nil
}

// entry adds one entry of the tree by its own type. Devices, pipes and sockets are left out.
func (b *builder) entry(p string) error {
	info, err := b.lstat(p)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		return b.link(p)
	case mode.IsRegular() && mode&0o111 != 0:
		return b.bind(p, p, info, true) // A program beside its root's directories, as in images that hold one only.
	case mode.IsRegular():
		return b.copyOrBind(p, p, info)
	case mode.IsDir():
		return b.bindOrMake(p, info)
	}
	return nil
}

// bindOrMake binds a directory, or only makes it when it is known to be empty.
func (b *builder) bindOrMake(p string, info status) error {
	all, err := b.entries(p)
	if err == nil && len(all) == 0 {
		b.img.Dirs = append(b.img.Dirs, p)
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("look into %s: %w", path.Base(p), err)
	}
	return b.bind(p, p, info, true)
}
