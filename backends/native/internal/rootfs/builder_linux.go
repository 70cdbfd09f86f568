package rootfs

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	// maxData is how many bytes of small files an image holds, and maxFile how many one of them may have; beyond, they
	// are bound, which costs a call less than a copy.
	maxData = 512 << 10
	maxFile = 16 << 10
	// maxParts bounds the binds, links and files of an image: each costs system calls in every sandbox.
	maxParts = 1024
	// maxSearch is how many entries of a directory are looked at before it is bound.
	maxSearch = 8192
	// copyBelow is the number of entries up to which a directory of files is copied, which is cheaper than a bind.
	copyBelow = 3
)

// builder collects an image from a tree.
type builder struct {
	tree
	img    Image
	left   int64
	mounts Mounts
	// passable remembers the directories that everybody may pass.
	passable map[string]bool
	// host says that the tree is the machine itself: what is mounted below the source of a bind is shown, where an
	// image is refused for it, and what not everybody may read is left out, where an image's own is bound.
	host bool
}

func newBuilder(t tree, name string) (*builder, error) {
	all, err := ReadMounts()
	if err != nil {
		return nil, err
	}
	return &builder{tree: t, img: Image{Name: name}, left: maxData, mounts: all, passable: map[string]bool{"/": true}}, nil
}

// finish returns the image.
func (b *builder) finish() (Image, error) {
	b.img.Links = append(b.img.Links, Link{Path: "/etc/mtab", Target: "../proc/self/mounts"})
	if n := len(b.img.Binds) + len(b.img.Links) + len(b.img.Files); n > maxParts {
		return Image{}, fmt.Errorf("%d parts, more than %d", n, maxParts)
	}
	var err error
	if b.img.Path, err = b.searchPath(); err != nil {
		return Image{}, err
	}
	b.img.finish()
	return b.img, nil
}

// bind adds a bind of what lies at a path inside without links.
func (b *builder) bind(target, inside string, info status, exec bool) error {
	source := b.outside(inside)
	subs := b.mounts.Below(source)
	for _, s := range subs {
		if Forbidden(s.Type) {
			return fmt.Errorf("%q holds the %s file system at %q", source, s.Type, s.Path)
		}
		if !b.host {
			return fmt.Errorf("%q has something mounted below it, at %q", source, s.Path)
		}
	}
	b.img.Binds = append(b.img.Binds, Bind{
		Source: source, Target: target, File: !info.IsDir(), Exec: exec, Recursive: len(subs) > 0,
	})
	return nil
}

// link adds the link at p as it stands.
func (b *builder) link(p string) error { return b.linkAs(p, p) }

// openToAll reports whether everybody may reach and read the file or directory at a path without links: the permission
// bits for others on it and on every directory above it.
func (b *builder) openToAll(p string, info status) (bool, error) {
	want := fs.FileMode(0o004)
	if info.IsDir() {
		want = 0o005
	}
	if info.Mode()&want != want {
		return false, nil
	}
	return b.canPass(path.Dir(p))
}

func (b *builder) canPass(dir string) (bool, error) {
	if ok, known := b.passable[dir]; known {
		return ok, nil
	}
	info, err := b.lstat(dir)
	if err != nil {
		return false, err
	}
	ok := info.Mode()&0o001 != 0
	if ok {
		ok, err = b.canPass(path.Dir(dir))
	}
	b.passable[dir] = ok
	return ok, err
}

// copyOrBind adds the regular file at a path inside without links: copied when it is small and everybody may read it,
// otherwise bound, so that its own permissions hold. A file of the machine that not everybody may read is left out.
func (b *builder) copyOrBind(target, inside string, info status) error {
	public, err := b.openToAll(inside, info)
	if err != nil {
		return err
	}
	var data []byte
	tooLarge := false
	if public {
		// The file may have changed since: what was read decides.
		if data, info, tooLarge, err = b.readFile(inside, min(b.left, maxFile)); err != nil {
			return err
		}
		public = info.Mode()&0o004 != 0
	}
	switch {
	case !public && b.host:
		return nil
	case !public || tooLarge:
		return b.bind(target, inside, info, false)
	}
	b.left -= int64(len(data))
	b.img.Files = append(b.img.Files, File{Path: target, Mode: uint32(info.Mode().Perm()) &^ 0o222, Data: data})
	return nil
}

// searchPath returns the usual directories of programs that exist, each once under its first name.
func (b *builder) searchPath() (string, error) {
	var dirs, seen []string
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		real, info, err := b.resolve(dir)
		if isNotExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		if !info.IsDir() || slices.Contains(seen, real) {
			continue
		}
		seen, dirs = append(seen, real), append(dirs, dir)
	}
	return strings.Join(dirs, ":"), nil
}

// isSynthetic reports whether every sandbox makes p itself.
func isSynthetic(p string) bool {
	return slices.Contains(syntheticPaths, p) || p == "/etc/mtab"
}

// entries lists a directory as paths.
func (b *builder) entries(dir string) ([]string, error) {
	list, err := b.readDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range list {
		out = append(out, path.Join(dir, name))
	}
	return out, nil
}

// linkAs adds the link at p under another path.
func (b *builder) linkAs(target, p string) error {
	text, err := b.readlink(p)
	if err != nil {
		return err
	}
	b.img.Links = append(b.img.Links, Link{Path: target, Target: text})
	return nil
}
