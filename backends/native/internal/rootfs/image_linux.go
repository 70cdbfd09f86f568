package rootfs

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Bind is a read-only bind of a path of the host.
type Bind struct {
	// Source is the path on the host, without symbolic links.
	Source string
	// Target is the path inside.
	Target string
	// File says that the source is a regular file and not a directory.
	File bool
	// Exec allows programs and libraries below it to be run.
	Exec bool
	// Recursive also shows what is mounted below the source; it is set when something is, and none of that is a
	// kernel file system (see [Forbidden]).
	Recursive bool
}

// Link is a symbolic link in the private root.
type Link struct {
	// Path is the path of the link inside.
	Path string
	// Target is its text.
	Target string
}

// File is a small file in the private root.
type File struct {
	// Path is the path inside.
	Path string
	// Mode holds the permission bits.
	Mode uint32
	// Data is the content.
	Data []byte
}

// Image is what a sandbox's root holds beyond what every sandbox makes itself (/dev, /proc, /tmp and the files of
// [Synthetic]). Each list is sorted by its path inside, so a parent comes before what lies in it.
type Image struct {
	// Name is the name it was asked for by.
	Name string
	// Binds, Links and Files are its parts. None lies inside a Bind.
	Binds []Bind
	Links []Link
	Files []File
	// Dirs are the directories that have to exist for them, mode 0755, parents first, and the image's own empty ones.
	// The targets of Binds that are directories are among them; those that are files are not.
	Dirs []string
	// Path is the PATH of a program inside.
	Path string
	// Env holds the image's own KEY=VALUE entries.
	Env []string
}

// Shows reports whether the file or directory at a host path is visible inside, and through which bind. The path has
// to be absolute and without symbolic links.
func (i Image) Shows(hostPath string) (Bind, bool) {
	for _, b := range i.Binds {
		if b.Source == hostPath || isBelow(hostPath, b.Source) {
			return b, true
		}
	}
	return Bind{}, false
}

// Resolves reports whether an absolute path inside exists as, or lies within, one of the image's own parts. What
// lies in a bind is taken to exist.
func (i Image) Resolves(inside string) bool {
	for _, b := range i.Binds {
		if b.Target == inside || isBelow(inside, b.Target) {
			return true
		}
	}
	return slices.ContainsFunc(i.Files, func(f File) bool { return f.Path == inside }) ||
		slices.ContainsFunc(i.Links, func(l Link) bool { return l.Path == inside }) ||
		slices.Contains(i.Dirs, inside)
}

// finish adds the directories that the parts need and sorts everything.
func (i *Image) finish() {
	need := slices.Clone(i.Dirs)
	for _, b := range i.Binds {
		if !b.File {
			need = append(need, b.Target)
		}
		need = append(need, parents(b.Target)...)
	}
	for _, l := range i.Links {
		need = append(need, parents(l.Path)...)
	}
	for _, f := range i.Files {
		need = append(need, parents(f.Path)...)
	}
	slices.Sort(need)
	i.Dirs = slices.Compact(need)
	slices.SortFunc(i.Binds, func(a, b Bind) int { return cmp.Compare(a.Target, b.Target) })
	slices.SortFunc(i.Links, func(a, b Link) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(i.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
}

// parents returns the directories above p without the root, the outermost first.
func parents(p string) []string {
	var out []string
	for dir := path.Dir(p); dir != "/" && dir != "."; dir = path.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// isBelow reports whether p lies strictly below dir; both are absolute and clean.
func isBelow(p, dir string) bool {
	if dir == "/" {
		return len(p) > 1
	}
	return strings.HasPrefix(p, dir+"/")
}
