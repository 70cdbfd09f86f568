package native

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/ahead"
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

// aheadBackend has n interpreters wait for a call.
func aheadBackend(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command, n int) *Backend {
	t.Helper()
	b := testBackend(t)
	a := sandbox.Arming{Like: c, Count: n, Interpreter: sandbox.InterpreterPython}
	if strings.HasSuffix(c.Argv[0], "node") {
		a.Interpreter = sandbox.InterpreterNode
	}
	require.NoError(t, b.Arm(t.Context(), p, a))
	require.Equal(t, n, b.ArmedStats().Ready)
	return b
}

func TestPythonAhead(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", `
import os, sys
print(os.environ["A"], sys.argv, sys.stdin.read(), len(os.listdir("/proc/self/fd")), [e for e in os.environ if "TOOLCELL" in e or "PYTHON" in e])
print("err", file=sys.stderr)
sys.exit(3)
`)
	c.Stdin = strings.NewReader("never read")
	b := aheadBackend(t, p, c, 1)
	c.Stdin, c.Env = strings.NewReader("the input"), []string{"A=a"}
	var tap bytes.Buffer
	c.Stdout = &tap
	p.Limits.OutputKB = 1
	r := b.served(t, p, c)
	assert.Equal(t, 3, r.ExitCode)
	assert.Equal(t, "a ['/code/main.py'] the input 4 []\n", string(r.Stdout))
	assert.Equal(t, string(r.Stdout), tap.String())
	assert.Equal(t, "err\n", string(r.Stderr))
}

func TestNodeAhead(t *testing.T) {
	p, c := script(t, "/usr/bin/node", "main.js", `
console.log(process.env.A, process.argv.length, Object.keys(process.env).filter((n) => /NODE|TOOL/.test(n)), process.execArgv);
process.exitCode = 3;
`)
	b := aheadBackend(t, p, c, 1)
	c.Env = []string{"A=a"}
	r := b.served(t, p, c)
	assert.Equal(t, 3, r.ExitCode)
	assert.Equal(t, "a 2 [] []\n", string(r.Stdout))
	assert.Empty(t, string(r.Stderr))
}

// A call that differs in what is settled while an interpreter starts is made by a fresh one.
func TestAheadServesOnlyWhatIsAlike(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "import sys; print(sys.argv[1:], sys.flags.hash_randomization, end='')")
	b := aheadBackend(t, p, c, 1)
	for want, change := range map[string]func(*sandbox.ContainerProfile, *sandbox.Command){
		"['x'] 1": func(_ *sandbox.ContainerProfile, c *sandbox.Command) { c.Argv = append(c.Argv[:2:2], "x") },
		"[] 0":    func(_ *sandbox.ContainerProfile, c *sandbox.Command) { c.Env = []string{"PYTHONHASHSEED=0"} },
		"[] 1":    func(p *sandbox.ContainerProfile, _ *sandbox.Command) { p.Env = []string{"LANG=C"} },
	} {
		p, c := p, c
		change(&p, &c)
		served := b.ArmedStats().Served
		r, err := b.Run(t.Context(), p, c)
		require.NoError(t, err)
		assert.Equal(t, want, string(r.Stdout))
		assert.Equal(t, served, b.ArmedStats().Served)
	}
	assert.Equal(t, "[] 1", string(b.served(t, p, c).Stdout))
}

// The time and the CPU time that waiting took are not the program's.
func TestAheadClock(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "import time; time.sleep(float(__import__('os').environ['S'])); print('done')")
	p.Limits.Wall, p.Limits.CPUSeconds = 2*time.Second, 1
	b := aheadBackend(t, p, c, 2)
	time.Sleep(2500 * time.Millisecond)
	c.Env = []string{"S=0.2"}
	r := b.served(t, p, c)
	assert.Equal(t, sandbox.StatusExited, r.Status)
	assert.Equal(t, "done\n", string(r.Stdout))
	c.Env = []string{"S=1000"}
	r = b.served(t, p, c)
	assert.Equal(t, sandbox.StatusTimeout, r.Status)
}

// An interpreter that waited is killed with its caller's context, and at its limits, as any other.
func TestAheadLimits(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "x = bytearray(int(__import__('os').environ['N']) << 20); x[::4096] = b'x' * len(x[::4096]); __import__('time').sleep(1000)")
	p.Limits.MemoryMB = 64
	b := aheadBackend(t, p, c, 2)
	c.Env = []string{"N=256"}
	assert.Equal(t, sandbox.StatusOOM, b.served(t, p, c).Status)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	c.Env = []string{"N=1"}
	r, err := b.Run(ctx, p, c)
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, r.Status)
}

// shares looks for what another call may have left, leaves traces everywhere, and says what ought to be its own.
const shares = `
import ctypes, json, os, random, resource, tempfile, time
libc = ctypes.CDLL(None, use_errno=True)
marks = ["/tmp/mark", "/dev/shm/mark", tempfile.gettempdir() + "/.mark"]
segment = libc.shmget(4711, 4096, 0)
keyring = libc.syscall(250, 0, -3, 0)  # KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING
seen = {
    "marks": [m for m in marks if os.path.exists(m)], "segment": segment, "keyring": keyring, "secret": os.environ.get("SECRET"),
    "pid": os.getpid(), "processes": [p for p in os.listdir("/proc") if p.isdigit()], "limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
}
own = {
    "hash": hash("x"), "address": id(seen) >> 12, "random": random.random(), "urandom": os.urandom(8).hex(), "name": tempfile.mktemp(),
    "namespaces": [os.readlink("/proc/self/ns/" + n) for n in ("ipc", "mnt", "net", "pid", "user", "uts", "cgroup")],
}
for m in marks:
    open(m, "w").close()
libc.shmget(4711, 4096, 0o1600)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
os.environ["SECRET"] = "left"
ballast = bytearray(int(os.environ.get("BALLAST", 0)) << 20)
ballast[::4096] = b"x" * len(ballast[::4096])
while time.process_time() < float(os.environ.get("BURN", 0)):
    pass
print(json.dumps({"seen": seen, "own": own}))
`

// Two calls that are served by the same pool share nothing, whether an interpreter waited for them or not.
func TestReadySharesNothing(t *testing.T) {
	for name, i := range map[string]sandbox.Interpreter{"alone": sandbox.InterpreterNone, "with Python": sandbox.InterpreterPython} {
		t.Run(name, func(t *testing.T) {
			p, c := script(t, "/usr/bin/python3", "main.py", shares)
			b := testBackend(t)
			type told struct {
				Seen, Own map[string]any
			}
			call := func(env ...string) (told, sandbox.Usage) {
				c.Env = env
				r := b.served(t, p, c)
				var out told
				require.NoError(t, json.Unmarshal(r.Stdout, &out), "%s", r.Stderr)
				return out, r.Usage
			}
			p.Env = []string{"PYTHONDONTWRITEBYTECODE=1"}
			require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 2, Interpreter: i}))
			one, first := call("SECRET=1", "BALLAST=200", "BURN=0.6")
			other, second := call()
			assert.Equal(t, "1", one.Seen["secret"])
			delete(one.Seen, "secret")
			assert.Nil(t, other.Seen["secret"])
			delete(other.Seen, "secret")
			assert.Equal(t, one.Seen, other.Seen, "the second finds everything as the first did")
			assert.Empty(t, other.Seen["marks"])
			assert.EqualValues(t, -1, other.Seen["segment"])
			assert.EqualValues(t, -1, other.Seen["keyring"])
			for what, mine := range one.Own {
				assert.NotEqual(t, mine, other.Own[what], what)
			}
			if first.User != nil && second.User != nil {
				assert.Greater(t, *first.User+*first.System, 400*time.Millisecond)
				assert.Less(t, *second.User+*second.System, *first.User+*first.System)
			}
			if first.MaxMemory != nil && second.MaxMemory != nil {
				assert.Greater(t, *first.MaxMemory, int64(200<<20))
				assert.Less(t, *second.MaxMemory, int64(100<<20))
			}
		})
	}
}

// What ended while it waited serves no call; the call is made all the same.
func TestAheadDies(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "print('ok')")
	b := aheadBackend(t, p, c, 1)
	for _, pid := range b.waiting(t) {
		for _, python := range children(t, pid) {
			require.NoError(t, unix.Kill(python, unix.SIGKILL))
			require.Eventually(t, func() bool { return ended(python) }, 20*time.Second, time.Millisecond)
		}
	}
	r, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	assert.Equal(t, "ok\n", string(r.Stdout))
}

// An interpreter that cannot take its call ends before the program's first line, and that is an error.
func TestAheadNothingHalf(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "print('ok')")
	b := aheadBackend(t, p, c, 1)
	require.Len(t, b.armory.racks, 1)
	_, err := b.armory.racks[0].ready[0].armed.hook.ours.WriteString("tool")
	require.NoError(t, err)
	_, err = b.Run(t.Context(), p, c)
	require.ErrorContains(t, err, "could not take it")
	require.ErrorIs(t, err, sandbox.ErrSetup)
	assert.Equal(t, 1, b.ArmedStats().Served)
}

// What would run its program before the call is never started with it.
func TestAheadHasToWait(t *testing.T) {
	p, c := script(t, "/code/python", "main.py", "open('/work/ran', 'w')")
	work := t.TempDir()
	require.NoError(t, os.Chmod(work, 0o777))
	p.Binds = append(p.Binds, sandbox.Mount{Source: work, Target: "/work", Writable: true})
	p.Binds[0].Exec = true
	require.NoError(t, os.WriteFile(filepath.Join(p.Binds[0].Source, "python"), []byte("#!/bin/sh\nexec /usr/bin/python3 -I \"$@\"\n"), 0o755))
	b := testBackend(t)
	err := b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 1, Interpreter: sandbox.InterpreterPython})
	require.ErrorContains(t, err, "does not wait")
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	require.NoFileExists(t, filepath.Join(work, "ran"))
	assert.Equal(t, ArmedStats{}, b.ArmedStats())
	_, err = b.Run(t.Context(), p, c)
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(work, "ran"), "the program does what would have shown")
}

// What is armed once is not replaced.
func TestAheadOnce(t *testing.T) {
	p, c := script(t, "/usr/bin/python3", "main.py", "print('ok')")
	b := testBackend(t)
	a := sandbox.Arming{Like: c, Count: 1, Once: true, Interpreter: sandbox.InterpreterPython}
	require.NoError(t, b.Arm(t.Context(), p, a))
	b.served(t, p, c)
	assert.Equal(t, ArmedStats{Served: 1}, b.ArmedStats())
	assert.Empty(t, b.armory.racks)
	assert.Empty(t, b.armory.orders)
	_, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	assert.Equal(t, ArmedStats{Served: 1}, b.ArmedStats(), "nothing was wanted")
	require.NoError(t, b.Arm(t.Context(), p, a))
	b.armory.mu.Lock()
	b.armory.idle, b.armory.inspecting = 0, true
	b.armory.mu.Unlock()
	b.armory.inspect()
	assert.Empty(t, b.armory.orders, "what is given up is not wanted any more")
}

// A new interpreter in the place of the one that waits is what a call gets.
func TestAheadProgramReplaced(t *testing.T) {
	assert.NotEqual(t, programFile([]string{"/usr/bin/python3"}), programFile([]string{"/usr/bin/node"}))
	p, c := script(t, "/usr/bin/python3", "main.py", "print('ok')")
	b := aheadBackend(t, p, c, 1)
	k := b.armory.racks[0].ready[0]
	assert.True(t, k.sameProgram())
	k.armed.program.ino++
	r, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	assert.Equal(t, "ok\n", string(r.Stdout))
	assert.Zero(t, b.ArmedStats().Served)
}

func TestAheadErrors(t *testing.T) {
	b := testBackend(t)
	for name, a := range map[string]sandbox.Arming{
		"no such interpreter": {Interpreter: "ruby", Like: sandbox.Command{Argv: []string{"ruby", "/x"}}},
		"no program":          {Interpreter: "python", Like: sandbox.Command{Argv: []string{"python3"}}},
		"options":             {Interpreter: "python", Like: sandbox.Command{Argv: []string{"python3", "-S", "/x"}}},
		"no such file":        {Interpreter: "python", Like: sandbox.Command{Argv: []string{"/no/python3", "/x"}}},
		"no such module":      {Interpreter: "python", Like: sandbox.Command{Argv: []string{"python3", "/x"}}, Preload: []string{"nosuchmodule"}},
		"a bad variable":      {Interpreter: "python", Like: sandbox.Command{Argv: []string{"python3", "/x"}, Env: []string{"A"}}},
		"no interpreter":      {Interpreter: "python", Like: sandbox.Command{Argv: []string{"/bin/true", "/x"}}},
	} {
		a.Count = 1
		err := b.Arm(t.Context(), sandbox.ContainerProfile{}, a)
		require.Error(t, err, name)
		t.Log(name, err)
		assert.Equal(t, ArmedStats{}, b.ArmedStats(), name)
	}
	_, err := ahead.Message([]string{strings.Repeat("x", ahead.MaxMessage)})
	require.Error(t, err)
}
