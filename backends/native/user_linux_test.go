package native_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// ordinary is a scene of the ordinary user.
func ordinary(waived []sandbox.Guarantee, script string) scene {
	return scene{User: user, Waived: waived, Argv: []string{"sh", "-c", script}}
}

// TestOrdinaryUserIsRefused: without a cgroup of its own and without waivers, the call is refused and the fix is said.
func TestOrdinaryUserIsRefused(t *testing.T) {
	requireRoot(t)
	s, mark := workspace(t, user)
	free := s.stage(t, 0)
	require.Empty(t, free.Stage, "with waivers: %+v", free)
	require.FileExists(t, mark)
	require.NoError(t, os.Remove(mark))
	s.Waived = nil
	v := s.stage(t, 0)
	v.refused(t, obstructed{stage: "run", kind: sandbox.KindRefused, guarantee: sandbox.LimitProcesses, fix: "Delegate=yes"})
	assert.NoFileExists(t, mark)
	for i := range cgroupBound() { // every one of them has to be waived
		s.Waived = append(append([]sandbox.Guarantee{}, cgroupBound()[:i]...), cgroupBound()[i+1:]...)
		v := s.stage(t, 0)
		assert.Equal(t, cgroupBound()[i], v.Guarantee)
		assert.Equal(t, sandbox.KindRefused, v.Kind)
		assert.NoFileExists(t, mark)
	}
}

// TestOrdinaryUserWithWaivers: everything that needs no cgroup holds, and what is written belongs to the user.
func TestOrdinaryUserWithWaivers(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	require.NoError(t, os.Chown(dir, user, user))
	require.NoError(t, os.Chmod(dir, 0o700))
	s := ordinary(cgroupBound(), "id -u; id -G; echo data > /work/file; mkdir /work/sub; stat -c %u /work/file")
	s.Profile.Binds = []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}
	v := s.stage(t, 0)
	require.Empty(t, v.Stage, "%+v", v)
	require.Zero(t, v.ExitCode, "%s", v.Stderr)
	assert.Equal(t, "65532\n65532\n65532\n", v.Stdout)
	for _, name := range []string{"file", "sub"} {
		var st syscall.Stat_t
		require.NoError(t, syscall.Stat(filepath.Join(dir, name), &st))
		assert.EqualValues(t, user, st.Uid, name)
		assert.EqualValues(t, user, st.Gid, name)
	}
	for _, g := range sandbox.Guarantees() {
		e := v.Report.Get(g)
		switch g {
		case sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU:
			assert.False(t, e.Enforced, "%s", g)
			assert.True(t, e.Waived, "%s", g)
			assert.NotEmpty(t, e.Fix, "%s", g)
		case sandbox.IPCNoHostSockets: // a second lock that needs a newer kernel
		default:
			assert.True(t, e.Enforced, "%s: %s", g, e.Reason)
			assert.NotEmpty(t, e.Mechanism, "%s", g)
		}
	}
	assert.Contains(t, v.Report.Get(sandbox.PrivNonroot).Reason, "supplementary groups")
	v.nothingLeft(t)
}

// TestOrdinaryUserRunsUnderItsOwnID: seen from outside, the sandbox's processes have the caller's uid.
func TestOrdinaryUserRunsUnderItsOwnID(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o666))
	require.NoError(t, os.Chmod(fifo, 0o666))
	s := ordinary(cgroupBound(), "echo toolcell-own-id > /work/fifo; exec sleep 60.64123")
	s.Profile.Binds = []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}
	cmd := s.begin(t)
	f, err := os.Open(fifo)
	require.NoError(t, err)
	line, err := bufio.NewReader(f).ReadString('\n')
	require.NoError(t, err, "the program did not start")
	require.Equal(t, "toolcell-own-id\n", line)
	require.NoError(t, f.Close())
	const program = "sleep\x0060.64123"
	require.Zero(t, settled(func() int { return 1 - len(named(program)) }), "the program seen from outside")
	for _, pid := range named(program) {
		assert.Equal(t, []string{"64123", "64123", "64123", "64123"}, statusFields(t, pid, "Uid:"))
		assert.Equal(t, []string{"64123", "64123", "64123", "64123"}, statusFields(t, pid, "Gid:"))
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.Zero(t, settled(func() int { return len(named(program)) }), "it outlived its caller")
}

// begin starts the scene and leaves it running.
func (s scene) begin(t *testing.T) *exec.Cmd {
	t.Helper()
	path := filepath.Join(openDir(t), "scene")
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	require.NoError(t, os.Chmod(path, 0o666))
	cmd := exec.Command(helperProgram)
	cmd.Dir, cmd.Env = "/", []string{sceneVariable + "=" + path, "PATH=/usr/bin:/bin"}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// named lists the processes whose command line begins with text.
func named(text string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var out []int
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil && strings.HasPrefix(string(data), text) {
			out = append(out, number(filepath.Base(filepath.Dir(f))))
		}
	}
	return out
}

// statusFields are the values of a line of /proc/PID/status.
func statusFields(t *testing.T, pid int, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", decimal(pid), "status"))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// TestOrdinaryUserCPUTime: without a cgroup the CPU time of a tree of processes is bounded all the same.
func TestOrdinaryUserCPUTime(t *testing.T) {
	requireRoot(t)
	const burn = "i=0; while [ $i -lt %s ]; do i=$((i+1)); done"
	tree := func(n string) string {
		b := strings.Replace(burn, "%s", n, 1)
		return "(" + b + ") & (" + b + ") & (sh -c '" + b + "' & wait) & wait; echo done"
	}
	s := ordinary(cgroupBound(), tree("1000"))
	s.Profile.Limits.CPUSeconds = 1
	v := s.stage(t, 0)
	require.Equal(t, "done\n", v.Stdout, "a tree that needs little: %+v", v)
	s.Argv = []string{"sh", "-c", tree("999999999")}
	v = s.stage(t, 0)
	require.Empty(t, v.Stage, "%+v", v)
	assert.Equal(t, sandbox.StatusCPUTimeout, v.Status)
	assert.Empty(t, v.Stdout)
	v.nothingLeft(t)
}

// TestSupplementaryGroups: those of a root caller are dropped. That an ordinary user's cannot be is said in the report.
func TestSupplementaryGroups(t *testing.T) {
	requireRoot(t)
	s := scene{Early: []string{"a supplementary group"}, Argv: []string{"grep", "^Groups", "/proc/self/status"}}
	v := s.stage(t, 0)
	require.Empty(t, v.Stage, "%+v", v)
	assert.Equal(t, "Groups:", strings.TrimSpace(v.Stdout), "root's sandbox has no supplementary group")
	assert.NotContains(t, v.Report.Get(sandbox.PrivNonroot).Reason, "supplementary")
}

// TestLanesAsOrdinaryUser runs the tests of lanes, and of a source that was renamed, as a user without privileges.
func TestLanesAsOrdinaryUser(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	cmd := exec.Command(helperProgram, "-test.v", "-test.run", "^(TestSpawnerKilled|TestSpawnerStopped|TestSpawnerStoppedBeforeTheCall|TestClose|TestRenamedSource)$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 5, strings.Count(string(out), "--- PASS"), "%s", out)
}
