package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// script is a profile that shows a program, and the command that runs it.
func script(t *testing.T, interpreter, name, text string) (sandbox.ContainerProfile, sandbox.Command) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/code"}}}
	return p, sandbox.Command{Argv: []string{interpreter, "/code/" + name}}
}

func TestPythonStartedAhead(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", `
import os, sys
print(os.environ["A"], sys.argv, sys.stdin.read(), sorted(os.listdir("/proc/self/fd")), "TOOLCELL_AHEAD" in os.environ, sys.path)
sys.exit(3)
`)
	c.Stdin = strings.NewReader("x")
	b := testBackend(t)
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 1, Interpreter: sandbox.InterpreterPython}))
	c.Stdin, c.Env = strings.NewReader("the input"), []string{"A=a"}
	r := b.served(t, p, c)
	assert.Equal(t, 3, r.ExitCode)
	assert.Equal(t, "a ['/code/main.py'] the input ['0', '1', '2', '3'] False ['/code', '/usr/lib/python311.zip', '/usr/lib/python3.11', '/usr/lib/python3.11/lib-dynload', '/usr/local/lib/python3.11/dist-packages', '/usr/lib/python3/dist-packages']\n", string(r.Stdout))
	assert.Empty(t, string(r.Stderr))
}

func TestNodeStartedAhead(t *testing.T) {
	p, c := script(t, "/usr/bin/node", "main.js", `
console.log(process.env.A, process.argv.length, Object.keys(process.env).filter((n) => n.startsWith("NODE") || n.startsWith("TOOL")), process.execArgv);
process.exitCode = 3;
`)
	b := testBackend(t)
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 1, Interpreter: sandbox.InterpreterNode}))
	c.Env = []string{"A=a"}
	r := b.served(t, p, c)
	assert.Equal(t, 3, r.ExitCode)
	assert.Equal(t, "a 2 [] []\n", string(r.Stdout))
	assert.Empty(t, string(r.Stderr))
}
