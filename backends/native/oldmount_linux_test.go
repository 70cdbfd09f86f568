package native_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// mountsInside are the mounts that a call sees, one line each: where, how restricted, how shared, what.
func mountsInside(t *testing.T, s scene) []string {
	t.Helper()
	s.Argv = []string{"cat", "/proc/self/mountinfo"}
	v := s.stage(t, 0)
	require.Empty(t, v.Stage, "%+v", v)
	require.Equal(t, 0, v.ExitCode, v.Stderr)
	var out []string
	for line := range strings.Lines(v.Stdout) {
		f := strings.Fields(line) // proc_pid_mountinfo(5)
		dash := slices.Index(f, "-")
		options := strings.Split(f[5], ",")
		slices.Sort(options)
		out = append(out, strings.Join([]string{f[4], strings.Join(options, ","), strings.Join(f[6:dash], " "), f[dash+1]}, " | "))
	}
	slices.Sort(out)
	return out
}

// The old mount API leaves the same mounts behind as the new one: as many, each as restricted, none of them shared.
func TestOldMountAPIMakesTheSameMounts(t *testing.T) {
	requireRoot(t)
	for _, uid := range []int{0, user} {
		s, _ := workspace(t, uid)
		dir := s.Profile.Binds[0].Source
		file := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(file, []byte("x"), 0o644))
		s.Profile.Binds = append(s.Profile.Binds,
			sandbox.Mount{Source: dir, Target: "/tmp/below/exec", Exec: true},
			sandbox.Mount{Source: dir, Target: "/read-only", Recursive: true},
			sandbox.Mount{Source: file, Target: "/file"})
		if uid == 0 {
			s.Profile.Binds = nil // whose id maps only the new one has
		}
		want := mountsInside(t, s)
		s.Early = []string{"no new mount API, ENOSYS"}
		got := mountsInside(t, s)
		assert.Equal(t, want, got, "as uid %d", uid)
		assert.Greater(t, len(got), 10)
	}
}

// What the mounts are for holds by trying, too, and the report says so.
func TestOldMountAPIHolds(t *testing.T) {
	requireRoot(t)
	s, mark := workspace(t, user)
	s.Early = []string{"no new mount API, ENOSYS"}
	s.Argv = []string{"sh", "-c", `
		for f in /x /usr/x /etc/x /bin/x /proc/sys/kernel/hostname /dev/x; do (echo x > $f) 2>/dev/null && echo "wrote $f"; done
		cp /bin/true /tmp/true && /tmp/true 2>/dev/null && echo "ran /tmp/true"
		cp /bin/true /work/true && /work/true 2>/dev/null && echo "ran /work/true"
		cat /proc/keys /proc/kcore /proc/interrupts 2>/dev/null | head -c 1
		ls -d /home /root /sys /opt 2>/dev/null
		echo y > /work/mark && echo x > /tmp/x && echo x > /dev/shm/x && echo x > /dev/null && echo done`}
	v := s.stage(t, 0)
	require.Empty(t, v.Stage, "%+v", v)
	assert.Equal(t, "done\n", v.Stdout, v.Stderr)
	assert.FileExists(t, mark)
	for _, e := range v.Report {
		waived := slices.Contains(cgroupBound(), e.Guarantee) || e.Guarantee == sandbox.IPCNoHostSockets
		assert.True(t, e.Enforced || waived, "%s: %s", e.Guarantee, e.Reason)
	}
}

// What is mounted below a source could be shown the old way, but not restricted. It refuses the call.
func TestOldMountAPIRefusesSubmounts(t *testing.T) {
	requireRoot(t)
	s, _ := workspace(t, user)
	dir := s.Profile.Binds[0].Source
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o777))
	s.Script = "mount -t tmpfs -o mode=0777 sub " + dir + "/sub"
	s.Profile.Binds = []sandbox.Mount{{Source: dir, Target: "/work", Recursive: true}}
	s.Argv = []string{"sh", "-c", "echo x > /work/sub/x || echo read-only"}
	s.setUp(unix.CLONE_NEWNS)
	v := s.stage(t, unix.CLONE_NEWNS)
	require.Empty(t, v.Stage, "%+v", v)
	require.Equal(t, "read-only\n", v.Stdout, "the new one restricts it")
	s.Early = append(s.Early, "no new mount API, ENOSYS")
	v = s.stage(t, unix.CLONE_NEWNS)
	assert.Equal(t, "run", v.Stage)
	assert.Equal(t, sandbox.KindRefused, v.Kind)
	assert.Contains(t, v.Fix, "new mount API")
	assert.Empty(t, v.Stdout)
	v.nothingLeft(t)
}
