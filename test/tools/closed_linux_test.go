package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/engines"
)

// closed makes a plugin with a tool that only its owner may read, and one in a directory that only its owner may enter.
func closed(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in"), 0o700))
	for name, mode := range map[string]os.FileMode{"own.py": 0o600, "in/its.py": 0o644} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("def run(): return 'read'\n"), mode))
	}
	return dir
}

// Tools that are nobody's but the caller's to read run where the program is the caller, or is mapped to be.
func TestClosedTools(t *testing.T) {
	on(t, func(t *testing.T, p place) {
		dir := closed(t)
		for _, file := range []string{"own.py", "in/its.py"} {
			r, err := callIn(t, p, dir, file)
			require.NoError(t, err, file)
			require.NoError(t, r.Failed(), file)
			assert.Equal(t, "read", r.Text(), file)
		}
	})
}

// Where the program of a root caller is another user, they are refused with what to do, and run when that was done.
func TestClosedToolsOfRoot(t *testing.T) {
	onEngines(t, func(t *testing.T, p place) {
		dir := closed(t)
		for _, file := range []string{"own.py", "in/its.py"} {
			open := filepath.Join(dir, strings.TrimSuffix(file, "/its.py"))
			_, err := callIn(t, p, dir, file)
			require.ErrorIs(t, err, sandbox.ErrRefused, file)
			assert.True(t, tools.Final(err))
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			assert.ErrorContains(t, typed.Cause, "owner 0:0 keep the program's user, 65532:65532, out")
			_, fix, _ := strings.Cut(typed.Fix, "let others read it: ")
			require.Equal(t, "chmod -R o+rX '"+open+"'", fix)
			out, exit := bare(t, "", "/bin/sh", "-c", fix)
			require.Zero(t, exit, out)
			r, err := callIn(t, p, dir, file)
			require.NoError(t, err, file)
			require.NoError(t, r.Failed(), file)
			assert.Equal(t, "read", r.Text(), file)
		}
	}, engines.Among(engines.Docker, engines.Podman)...)
}

func callIn(t *testing.T, p place, dir, file string) (tools.PythonResult, error) {
	t.Helper()
	return toolsAt(t, p).Plugin(t.Context(), tools.PluginArgs{
		PythonCall: tools.PythonCall{Name: "run"}, Dir: dir, Handler: "python:" + file + "::run",
	})
}
