//go:build unix

package ahead

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func python(argv ...string) Start {
	return Start{Interpreter: sandbox.InterpreterPython, Argv: append([]string{"/usr/bin/python3"}, argv...)}
}

func node(argv ...string) Start {
	return Start{Interpreter: sandbox.InterpreterNode, Argv: append([]string{"/usr/bin/node"}, argv...)}
}

func TestCheck(t *testing.T) {
	for _, s := range []Start{
		python("/code/main.py"), python("/code/main.py", "-x", "y"), python("-c", "pass"), python("-c", "pass", "-I"),
		node("/code/main.js"), node("/code/main.mjs", "--flag"),
		{Interpreter: "python", Argv: []string{"python3", "/m.py"}, Preload: []string{"json", "xml.etree.ElementTree", "_x1"}, Pin: true},
	} {
		assert.NoError(t, s.Check(), "%v", s)
	}
	for _, s := range []Start{
		{}, {Interpreter: "ruby", Argv: []string{"ruby", "/m.rb"}}, {Argv: []string{"/bin/true", "/x"}},
		python(), python("main.py"), python("-"), python("-m", "json"), python("-I", "/m.py"), python("-c"), python(""),
		node(), node("-e", "0"), node("main.js"), node("--check", "/m.js"),
		{Interpreter: "node", Argv: []string{"node", "/m.js"}, Pin: true},
		{Interpreter: "node", Argv: []string{"node", "/m.js"}, Preload: []string{"fs"}},
		{Interpreter: "python", Argv: []string{"python3", "/m.py"}, Preload: []string{"json,os"}},
		{Interpreter: "python", Argv: []string{"python3", "/m.py"}, Preload: []string{""}},
		{Interpreter: "python", Argv: []string{"python3", "/m.py"}, Preload: []string{"1x"}},
	} {
		assert.ErrorIs(t, s.Check(), sandbox.ErrInvalid, "%v", s)
	}
}

func TestServes(t *testing.T) {
	s := python("/m.py")
	s.Fixed = Fixed([]string{"PYTHONUNBUFFERED=0", "LANG=C", "A=1", "PYTHONUNBUFFERED=1"})
	assert.Equal(t, []string{"LANG=C", "PYTHONUNBUFFERED=1"}, s.Fixed)
	argv := s.Argv
	assert.True(t, s.Serves(argv, []string{"PYTHONUNBUFFERED=1", "B=2", "LANG=C", "TZ=UTC"}))
	assert.False(t, s.Serves(argv, []string{"PYTHONUNBUFFERED=1"}))
	assert.False(t, s.Serves(argv, []string{"PYTHONUNBUFFERED=1", "LANG=C", "PYTHONHASHSEED=0"}))
	assert.False(t, s.Serves(append(argv[:len(argv):len(argv)], "x"), s.Fixed))
	assert.True(t, s.Serves(argv, append([]string{"B=\xff"}, s.Fixed...)))
	n := node("/m.js")
	assert.True(t, n.Serves(n.Argv, []string{"B=ä"}))
	assert.False(t, n.Serves(n.Argv, []string{"B=\xff"}), "node would change it")
}

// waiting is an interpreter that was started ahead, outside any sandbox.
type waiting struct {
	cmd      *exec.Cmd
	hook     *os.File
	out, err bytes.Buffer
}

// begin starts an interpreter and waits until its hook does.
func begin(t *testing.T, s Start, env ...string) *waiting {
	t.Helper()
	if _, err := os.Stat(s.Argv[0]); err != nil {
		if os.Getenv("TOOLCELL_TEST_REQUIRE") != "" {
			require.NoError(t, err)
		}
		t.Skip(err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	defer theirs.Close()
	require.NoError(t, syscall.SetNonblock(pair[0], true))
	w := &waiting{cmd: exec.Command(s.Argv[0], s.Argv[1:]...), hook: os.NewFile(uintptr(pair[0]), "ours")}
	t.Cleanup(func() { w.hook.Close() })
	dir := t.TempDir()
	for path, data := range s.Files() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600))
	}
	for _, e := range s.Environment(append([]string{"PATH=/usr/bin:/bin"}, env...), 3) {
		w.cmd.Env = append(w.cmd.Env, string(bytes.Replace([]byte(e), []byte(Dir), []byte(dir), 1)))
	}
	w.cmd.ExtraFiles, w.cmd.Stdout, w.cmd.Stderr = []*os.File{theirs}, &w.out, &w.err
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	require.NoError(t, w.hook.SetReadDeadline(time.Now().Add(time.Minute)))
	assert.Equal(t, string(rune(Waits)), w.read(t))
	return w
}

// read returns the next byte of the hook, or "" at the end.
func (w *waiting) read(*testing.T) string {
	var b [1]byte
	n, _ := w.hook.Read(b[:])
	return string(b[:n])
}

// call hands the environment over and waits for the end.
func (w *waiting) call(t *testing.T, env ...string) string {
	t.Helper()
	m, err := Message(append([]string{"PATH=/usr/bin:/bin"}, env...))
	require.NoError(t, err)
	_, err = w.hook.Write(m)
	require.NoError(t, err)
	require.Equal(t, string(rune(Goes)), w.read(t), "%s", &w.err)
	require.Empty(t, w.read(t), "it closes its end")
	require.NoError(t, w.cmd.Wait(), "%s", &w.err)
	require.Empty(t, w.err.String())
	return w.out.String()
}

func script(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const pythonProgram = `
import os, sys, gc
print(gc.collect(), sorted(os.environ), sorted(os.listdir("/proc/self/fd"))[:-1], [m for m in sys.modules if "custom" in m])
print(sorted(globals()), __file__ == sys.argv[0], [p for p in sys.path if "001" in p and p != os.path.dirname(__file__)], sys._getframe().f_back)
import time
print(time.strftime("%Z", time.localtime(0)), os.environ.get("A"), sorted(sys.modules))
`

func TestPython(t *testing.T) {
	file := script(t, "main.py", pythonProgram)
	env := []string{"A=1", "TZ=Asia/Tokyo"}
	cold := exec.Command("/usr/bin/python3", file)
	cold.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	want, err := cold.Output()
	require.NoError(t, err)
	require.Contains(t, string(want), "JST 1")
	assert.Equal(t, string(want), begin(t, python(file)).call(t, env...))
}

func TestPythonPinned(t *testing.T) {
	s := python(script(t, "main.py", `
import json, sys, atexit
class C:
    def __del__(self): print("del", flush=True)
c = C()
c.c = c
atexit.register(print, "exit")
print(json.dumps([__name__, "json" in sys.modules, __import__("__main__").c is c]))
`))
	s.Preload, s.Pin = []string{"json", "re"}, true
	assert.Equal(t, "[\"__main__\", true, true]\nexit\ndel\n", begin(t, s).call(t))
}

// A module beside the program is found before one that was imported ahead of it.
func TestPythonShadow(t *testing.T) {
	file := script(t, "main.py", "import json; print(json.x)")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "json.py"), []byte("x = 'mine'"), 0o600))
	s := python(file)
	s.Preload = []string{"json"}
	assert.Equal(t, "mine\n", begin(t, s).call(t))
}

const nodeProgram = `
const fs = require('fs');
console.log(Object.keys(process.env).sort(), process.execArgv, process.argv.slice(2), require.main === module);
console.log(Object.keys(require.cache).length, process._preload_modules, Object.keys(module.constructor._pathCache).length);
console.log(new Date(0).getTimezoneOffset(), process.env.A);
new (require('worker_threads').Worker)("console.log(Object.keys(require.cache), process._preload_modules, process.env.A)", {eval: true});
`

func TestNode(t *testing.T) {
	file := script(t, "main.js", nodeProgram)
	env := []string{"A=1", "TZ=Asia/Tokyo"}
	s := node(file, "x")
	w := begin(t, s)
	cold := exec.Command(s.Argv[0], s.Argv[1:]...)
	cold.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	want, err := cold.Output()
	require.NoError(t, err)
	require.Contains(t, string(want), "-540 1")
	assert.Equal(t, string(want), w.call(t, env...))
}

// What cannot be taken ends the interpreter before the program's first line.
func TestNothingHalf(t *testing.T) {
	good, err := Message([]string{"A=1", "B=2"})
	require.NoError(t, err)
	changed := func(at int, b byte) []byte {
		m := bytes.Clone(good)
		m[at] = b
		return m
	}
	messages := map[string][]byte{
		"nothing": nil, "half a head": good[:5], "half": good[:len(good)-1], "another magic": changed(0, 'T'),
		"longer": changed(11, 200), "an entry beyond the end": changed(15, 200), "no equals sign": changed(17, 'x'),
	}
	for _, s := range []Start{python(script(t, "main.py", "print(1)")), node(script(t, "main.js", "console.log(1)"))} {
		for name, m := range messages {
			t.Run(string(s.Interpreter)+"/"+name, func(t *testing.T) {
				w := begin(t, s)
				_, err := w.hook.Write(m)
				require.NoError(t, err)
				require.NoError(t, syscall.Shutdown(int(fd(t, w.hook)), syscall.SHUT_WR))
				assert.Empty(t, w.read(t))
				var exit *exec.ExitError
				require.ErrorAs(t, w.cmd.Wait(), &exit)
				assert.Equal(t, Failed, exit.ExitCode())
				assert.Empty(t, w.out.String()+w.err.String())
			})
		}
	}
}

func fd(t *testing.T, f *os.File) (out uintptr) {
	t.Helper()
	raw, err := f.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { out = fd }))
	return out
}
