package native_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// build compiles the spawner's program, with files of the module replaced by others.
func build(t *testing.T, replaced map[string]string) string {
	t.Helper()
	dir := openDir(t)
	out := filepath.Join(dir, "toolcell-init")
	args := []string{"build", "-o", out}
	if len(replaced) > 0 {
		overlay, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
		require.NoError(t, err)
		file := filepath.Join(dir, "overlay.json")
		require.NoError(t, os.WriteFile(file, overlay, 0o644))
		args = append(args, "-overlay", file)
	}
	cmd := exec.Command("go", append(args, "github.com/soulacy/toolcell/cmd/toolcell-init")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.NoError(t, os.Chmod(out, 0o755))
	return out
}

// otherBuild is a spawner whose protocol has another version.
func otherBuild(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("internal/wire")
	require.NoError(t, err)
	path := filepath.Join(dir, "wire.go")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := strings.Replace(string(data), "const version = ", "const version = 1000 + ", 1)
	require.NotEqual(t, string(data), changed)
	file := filepath.Join(t.TempDir(), "wire.go")
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o644))
	return build(t, map[string]string{path: file})
}

// impostor copies this program to a name by which it knows how to misbehave instead of becoming a spawner.
func impostor(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(openDir(t), name)
	require.NoError(t, copyExecutable(helperProgram, path))
	return path
}

// misbehave is what an impostor does; for any other program it returns.
func misbehave() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	switch filepath.Base(self) {
	case "crashing":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSYS) // a PID 1 does not die by it, so it ends next
		panic("crashed")
	case "talking":
		_, _ = syscall.Write(wire.SocketFD, []byte("nonsense"))
		time.Sleep(time.Hour)
	case "hanging":
		time.Sleep(time.Hour)
	}
}

// TestSpawnerPrograms: whatever is configured as the spawner and is none, the answer is one error, and nothing runs.
func TestSpawnerPrograms(t *testing.T) {
	requireRoot(t)
	good := build(t, nil)
	s, mark := workspace(t, 0)
	s.Spawner = good
	free := s.stage(t, 0)
	require.Empty(t, free.Stage, "%+v", free)
	require.FileExists(t, mark)
	require.NoError(t, os.Remove(mark))

	writable := filepath.Join(openDir(t), "toolcell-init")
	require.NoError(t, copyExecutable(good, writable))
	require.NoError(t, os.Chmod(writable, 0o775))
	foreign := filepath.Join(openDir(t), "toolcell-init")
	require.NoError(t, copyExecutable(good, foreign))
	require.NoError(t, os.Chown(foreign, user, user))
	closed := filepath.Join(openDir(t), "toolcell-init")
	require.NoError(t, copyExecutable(good, closed))
	require.NoError(t, os.Chmod(closed, 0o644))
	// A copy, since others on this machine may run the program itself.
	sleep := filepath.Join(openDir(t), "sleep")
	require.NoError(t, copyExecutable("/bin/sleep", sleep))
	text := filepath.Join(openDir(t), "toolcell-init")
	require.NoError(t, os.WriteFile(text, []byte("no program\n"), 0o755))
	require.NoError(t, os.Chmod(text, 0o755))

	for _, c := range []struct {
		name, path, fix string
		start           time.Duration
	}{
		{name: "missing", path: filepath.Join(openDir(t), "none"), fix: "spawner's path"},
		{name: "a directory", path: openDir(t), fix: "spawner's path"},
		{name: "group-writable", path: writable, fix: "spawner's path"},
		{name: "another user's", path: foreign, fix: "spawner's path"},
		{name: "not executable", path: closed, fix: "executable by all users"},
		{name: "no program", path: text, fix: "program for this machine"},
		{name: "of another build", path: otherBuild(t), fix: "build both again"},
		{name: "true", path: "/bin/true", fix: "spawner.Main"},
		{name: "false", path: "/bin/false", fix: "spawner.Main"},
		{name: "sleep", path: sleep, fix: "spawner.Main"},
		{name: "one that crashes", path: impostor(t, "crashing"), fix: "spawner.Main"},
		{name: "one that talks", path: impostor(t, "talking"), fix: "spawner.Main"},
		{name: "one that hangs", path: impostor(t, "hanging"), fix: "spawner.Main", start: time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, mark := workspace(t, 0)
			s.Spawner, s.Start = c.path, c.start
			v := s.stage(t, 0)
			t.Logf("%s: %s: %s (%s)", v.Kind, v.Op, v.Cause, v.Fix)
			v.refused(t, obstructed{stage: "open", kind: sandbox.KindUnavailable, fix: c.fix})
			assert.NoFileExists(t, mark)
			assert.Empty(t, running(c.path))
		})
	}
}
