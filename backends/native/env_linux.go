package native

import (
	"path"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// environment is the program's: the sandbox's own variables, then the image's, the profile's and the command's, the
// later winning. Nothing is taken from the caller.
func environment(id rootfs.Identity, image *rootfs.Image, p sandbox.ContainerProfile, c sandbox.Command) []string {
	var out []string
	at := make(map[string]int)
	for _, list := range [][]string{rootfs.Environment(id, image.Path), image.Env, p.Env, c.Env} {
		for _, e := range list {
			name, _, _ := strings.Cut(e, "=")
			if i, ok := at[name]; ok {
				out[i] = e
				continue
			}
			at[name] = len(out)
			out = append(out, e)
		}
	}
	return out
}

func lookup(env []string, name string) (string, bool) {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if i < 0 {
		return "", false
	}
	return env[i][len(name)+1:], true
}

// interpreters are the profile's interpreters, resolved: what to mount, which links to make, and where each is.
type interpreters struct {
	mounts []sandbox.Mount
	links  []rootfs.Link
	// exe is the path to start for each path that the profile names.
	exe map[string]string
	// dirs are the directories of the programs, for PATH.
	dirs []string
}

func resolveInterpreters(paths, protected []string) (interpreters, error) {
	out := interpreters{exe: make(map[string]string, len(paths))}
	for _, p := range paths {
		i, err := rootfs.ResolveInterpreter(p, protected...)
		if err != nil {
			return out, err
		}
		out.exe[p] = i.Exe
		if dir := path.Dir(i.Exe); !slices.Contains(out.dirs, dir) {
			out.dirs = append(out.dirs, dir)
		}
		for _, prefix := range i.Prefixes {
			m := sandbox.Mount{Source: prefix, Target: prefix, Exec: true, Recursive: true}
			if !slices.Contains(out.mounts, m) {
				out.mounts = append(out.mounts, m)
			}
		}
		for _, l := range i.Links {
			if !slices.Contains(out.links, l) {
				out.links = append(out.links, l)
			}
		}
	}
	return out, nil
}

// addTo puts the links, and the directories they are in, into an image, and the programs first in its PATH, as an
// activated virtual environment does.
func (i interpreters) addTo(shared *rootfs.Image) *rootfs.Image {
	image := *shared
	if len(i.links) > 0 {
		image.Links, image.Dirs = slices.Clone(image.Links), slices.Clone(image.Dirs)
	}
	for _, l := range i.links {
		image.Links = append(image.Links, l)
		image.Dirs = withParents(image.Dirs, l.Path)
	}
	image.Path = strings.Join(append(slices.Clone(i.dirs), image.Path), ":")
	return &image
}

// withParents adds the directories above a path to a list, topmost first.
func withParents(dirs []string, p string) []string {
	var missing []string
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if !slices.Contains(dirs, d) {
			missing = append(missing, d)
		}
	}
	slices.Reverse(missing)
	return append(dirs, missing...)
}
