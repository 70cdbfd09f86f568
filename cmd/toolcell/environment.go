package main

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// inside knows which absolute paths name something in a sandbox.
type inside struct {
	trees []string
	root  string // an unpacked image, or ""
}

// newInside looks at what p mounts and at the image's own tree. An image that is not a directory here is the host's.
func newInside(p sandbox.ContainerProfile, images map[string]string) (inside, error) {
	in := inside{trees: []string{"/tmp", "/dev/shm"}}
	mounts, err := p.AllMounts()
	if err != nil {
		return inside{}, err
	}
	for _, m := range mounts {
		in.trees = append(in.trees, m.Target)
	}
	for _, i := range p.Interpreters {
		in.trees = append(in.trees, path.Dir(i))
	}
	if dir := images[p.Image]; path.IsAbs(dir) {
		in.root = dir
		return in, nil
	}
	in.trees = append(in.trees, "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/tmp")
	return in, nil
}

// has reports whether name is the root, in one of the trees, or a path of the unpacked image.
func (in inside) has(name string) bool {
	if !path.IsAbs(name) {
		return false
	}
	name = path.Clean(name)
	if name == "/" || slices.ContainsFunc(in.trees, func(t string) bool { return name == t || strings.HasPrefix(name, t+"/") }) {
		return true
	}
	if in.root == "" {
		return false
	}
	root, err := os.OpenRoot(in.root)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(name[1:])
	return err == nil
}

// dropForeign removes PATH, HOME and TMPDIR from env where they name nothing inside, and says so: a gateway that was
// written for the host forwards its own, and the sandbox's own are better than none. A PATH stays when one directory of
// it exists.
func (in inside) dropForeign(env []string) (kept, hints []string) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if in.foreign(name, value) {
			hints = append(hints, fmt.Sprintf("%s=%s names nothing inside; the sandbox's own %s is used", name, value, name))
			continue
		}
		kept = append(kept, e)
	}
	return kept, hints
}

func (in inside) foreign(name, value string) bool {
	switch name {
	case "PATH":
		return !slices.ContainsFunc(strings.Split(value, ":"), in.has)
	case "HOME", "TMPDIR":
		return !in.has(value)
	default:
		return false
	}
}
