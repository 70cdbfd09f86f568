package tools

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

var errTooDeep = errors.New("it is too deep")

// walker goes through a tree that a program made, as [fs.WalkDir] does, but opens each directory from the one above it:
// a Root follows a path name by name, so that the work would grow with the square of the depth.
type walker struct {
	// most is how many names of each directory are read; one more tells that there are more.
	most int
	// depth is how many directories deep it goes, with one open on each level. A directory further down is visited with
	// errTooDeep.
	depth int
	// visit is called for each name in lexical order, and once more for a directory that cannot be read. The top is
	// visited with an error only, as ".".
	visit fs.WalkDirFunc
}

func (w walker) walk(dir *os.Root, at string, d fs.DirEntry) error {
	entries, err := readDir(dir, ".", w.most+1)
	if err != nil {
		err = w.visit(at, d, err)
	}
	for i := 0; err == nil && i < len(entries); i++ {
		err = w.enter(dir, path.Join(at, entries[i].Name()), entries[i])
	}
	return err
}

func (w walker) enter(dir *os.Root, name string, d fs.DirEntry) error {
	err := w.visit(name, d, nil)
	switch {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err != nil || !d.IsDir():
		return err
	case strings.Count(name, "/") >= w.depth:
		return w.visit(name, d, errTooDeep)
	}
	sub, err := openDir(dir, d.Name())
	if err != nil {
		return w.visit(name, d, err)
	}
	defer sub.Close()
	return w.walk(sub, name, d)
}

// readDir returns the first names of a directory, at most n, sorted.
func readDir(root *os.Root, name string, n int) ([]fs.DirEntry, error) {
	f, err := root.Open(name + "/.")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(n)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
