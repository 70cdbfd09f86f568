package native

import (
	"slices"
	"strings"

	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// environment is the program's: the sandbox's own variables, then the image's, the profile's and the command's, the
// later winning. Nothing is taken from the caller.
func environment(id rootfs.Identity, image rootfs.Image, p sandbox.ContainerProfile, c sandbox.Command) []string {
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

// interpreterMounts are the prefixes of interpreters that live outside the image, each at its own path.
func interpreterMounts(paths []string) ([]sandbox.Mount, error) {
	var out []sandbox.Mount
	for _, p := range paths {
		i, err := rootfs.ResolveInterpreter(p)
		if err != nil {
			return nil, err
		}
		for _, prefix := range i.Prefixes {
			m := sandbox.Mount{Source: prefix, Target: prefix, Exec: true, Recursive: true}
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}
