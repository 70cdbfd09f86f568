package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/ahead"
	"github.com/soulacy/toolcell/sandbox"
)

// hooks are the compiled hooks of a backend.
func (b *Backend) hooks() (all []*ahead.Compiled) {
	for _, c := range b.compiled.list {
		all = append(all, c)
	}
	return all
}

// compiledAs has the one compiled hook of a backend replaced, and what waits built anew with it.
func (b *Backend) compiledAs(t *testing.T, output string, p sandbox.ContainerProfile, a sandbox.Arming) error {
	t.Helper()
	require.Len(t, b.hooks(), 1)
	c, err := ahead.ParseCompiled([]byte(output))
	require.NoError(t, err)
	for key := range b.compiled.list {
		b.compiled.list[key] = c
	}
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{}))
	b.trials = trials{}
	return b.Arm(t.Context(), p, a)
}

// Python's hook is compiled once, by the interpreter that runs it. What does not suit it is passed over.
func TestPythonHookIsCompiledOnce(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "print(42)")
	b := aheadBackend(t, p, c, 1)
	assert.NotNil(t, b.hooks()[0])
	assert.Equal(t, "42\n", string(b.served(t, p, c).Stdout))
	a := sandbox.Arming{Like: c, Count: 1, Interpreter: sandbox.InterpreterPython}

	tag := string(b.must(t, `/usr/bin/python3 -c 'import sys; sys.stdout.write(sys.implementation.cache_tag)'`).Stdout)
	exits := b.must(t, `/usr/bin/python3 -c 'import sys, marshal; from importlib.util import MAGIC_NUMBER as m
sys.stdout.buffer.write(m + b"\1" + bytes(11) + marshal.dumps(compile("import os; os._exit(7)", "x", "exec")))'`).Stdout
	assert.ErrorContains(t, b.compiledAs(t, tag+"\x00"+string(exits), p, a), "status 7", "control: it is what runs")
	require.NoError(t, b.compiledAs(t, tag+"\x00another version's", p, a))
	assert.Equal(t, "42\n", string(b.served(t, p, c).Stdout))
	require.NoError(t, b.compiledAs(t, "cpython-1\x00another version's", p, a))
	assert.Equal(t, "42\n", string(b.served(t, p, c).Stdout))
}

// What lies in an agent's directory has no part in compiling the hook, which other profiles' sandboxes run.
func TestPythonHookIsCompiledAlone(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "print(42)")
	own := testBackend(t)
	require.NoError(t, own.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 1, Interpreter: sandbox.InterpreterPython}))

	evil := filepath.Join(p.Binds[0].Source, "sitecustomize.py")
	require.NoError(t, os.WriteFile(evil, []byte("import marshal; marshal.dumps = lambda *_: b'evil'"), 0o644))
	c.Env = []string{"PYTHONPATH=/code"}
	r, err := own.Run(t.Context(), p, sandbox.Command{Argv: []string{"/usr/bin/python3", "-c", "import marshal; print(marshal.dumps(1))"}, Env: c.Env})
	require.NoError(t, err)
	require.Equal(t, "b'evil'\n", string(r.Stdout), "control: programs get it")
	b := aheadBackend(t, p, c, 1)
	assert.Equal(t, own.hooks(), b.hooks())
	p.Image, p.Interpreters = "host", []string{"/opt/python"}
	assert.Equal(t, sandbox.ContainerProfile{Image: "host", Interpreters: p.Interpreters}.WithDefaults(), compiling(p))
	require.NotNil(t, b.hooks()[0])
}

// An interpreter that cannot compile it runs the source.
func TestPythonHookUncompiled(t *testing.T) {
	_, err := ahead.ParseCompiled(nil)
	require.Error(t, err)
	for _, output := range []string{"cpython", "\x00x", "../x\x00x", "cpython-311\x00", fmt.Sprintf("cpython-311\x00%065537d", 0)} {
		_, err := ahead.ParseCompiled([]byte(output))
		assert.Error(t, err, "%.20q", output)
	}
	p, c := script(t, "/usr/bin/python3", "main.py", "print(42)")
	b := aheadBackend(t, p, c, 1)
	for key := range b.compiled.list {
		b.compiled.list[key] = nil
	}
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{}))
	b.trials = trials{}
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 1, Interpreter: sandbox.InterpreterPython}))
	assert.Equal(t, []*ahead.Compiled{nil}, b.hooks())
	assert.Equal(t, "42\n", string(b.served(t, p, c).Stdout))
}

// What says nothing of the interpreter is not remembered of it; what does is.
func TestPythonHookIsTriedAgain(t *testing.T) {
	b := testBackend(t)
	start := func(program string) *ahead.Start {
		return &ahead.Start{Interpreter: sandbox.InterpreterPython, Argv: []string{program, "/code/main.py"}}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Nil(t, b.compiledHook(gone, sandbox.ContainerProfile{}, start("/usr/bin/python3")))
	assert.Empty(t, b.hooks())
	tight := sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: sandbox.MinMemoryMB, Wall: time.Millisecond}, PIDs: 1}
	assert.NotNil(t, b.compiledHook(t.Context(), tight, start("/usr/bin/python3")), "it is no other profile's business")
	for _, program := range []string{"/usr/bin/true", "/usr/bin/nothing"} {
		assert.Nil(t, b.compiledHook(t.Context(), sandbox.ContainerProfile{}, start(program)))
	}
	assert.Len(t, b.hooks(), 3)
}
