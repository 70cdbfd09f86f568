package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// FuzzFilter filters arbitrary environments, one entry a line. Nothing gets through that is not named, each name gets through
// once, with the value that getenv(3) would find, and a second filter changes nothing.
func FuzzFilter(f *testing.F) {
	for _, env := range []string{"PATH=/bin\nSECRET=x\nTOKEN=y", "PATH=a\nPATH=b", "=x\nA", "TOKEN", "TO KEN=1\nTOKEN=\x00", "path=x\nToken=y", ""} {
		f.Add(env, "TOKEN\nA=b\n\nPATH")
	}
	f.Fuzz(func(t *testing.T, environment, wanted string) {
		env, names := strings.Split(environment, "\n"), strings.Split(wanted, "\n")
		out := Filter(env, names)
		var seen []string
		for _, e := range out {
			name, _, ok := strings.Cut(e, "=")
			assert.True(t, ok && name != "" && !strings.ContainsAny(name, " \t\x00"), "%q", e)
			assert.True(t, containsName(names, name) || containsName(Inherited(), name), "%q was not named", name)
			assert.False(t, containsName(seen, name), "%q twice", name)
			seen = append(seen, name)
			first := slices.IndexFunc(env, func(s string) bool {
				n, _, ok := strings.Cut(s, "=")
				return ok && folded(n) == folded(name)
			})
			assert.Equal(t, env[first], e)
		}
		assert.Equal(t, out, Filter(out, names))
	})
}
