package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// writeSource makes a Source whose files hold these texts.
func writeSource(t *testing.T, mounts, own, swaps string) Source {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"mountinfo": mounts, "cgroup": own, "swaps": swaps} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return Source{Self: dir, Swaps: filepath.Join(dir, "swaps")}
}

func fixOf(t *testing.T, err error) string {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	return e.Fix
}

func TestOpenWithoutHierarchies(t *testing.T) {
	_, err := Open(Config{Mounts: writeSource(t, "", "", "")})
	assert.Equal(t, fixMissing, fixOf(t, err))
	_, err = Open(Config{Mounts: writeSource(t, "", "1:pids:/\n2:memory:/\n", "")})
	assert.Equal(t, fixUnseen, fixOf(t, err))
	_, err = Open(Config{Mounts: Source{Self: t.TempDir()}})
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(Config{Mounts: writeSource(t, "nonsense", "", "")})
	assert.Error(t, err)
}

// TestOpenRefusesOtherFileSystems has a mountinfo that names a directory which is no cgroup: one that was mounted over.
func TestOpenRefusesOtherFileSystems(t *testing.T) {
	base := t.TempDir()
	mounts := fmt.Sprintf("1 2 0:3 / %s rw - cgroup c rw,pids\n", base)
	_, err := Open(Config{Mounts: writeSource(t, mounts, "1:pids:/\n", "")})
	require.ErrorIs(t, err, unix.ENOTSUP)
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestOpenBadParent(t *testing.T) {
	open(t)
	_, err := Open(Config{Parent: "no/such/group"})
	assert.Equal(t, fixParent, fixOf(t, err))
	_, err = Open(Config{Parent: "../.."})
	assert.Error(t, err)
}

// TestReadOnly bind-mounts the hierarchies read-only in a namespace of its own.
func TestReadOnly(t *testing.T) {
	m := open(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	script := "for m in \"$@\"; do mount --bind \"$m\" \"$m\" && mount -o remount,bind,ro \"$m\" || exit 96; done; exec /proc/self/fd/3"
	args := []string{"-c", script, "sh"}
	for _, h := range m.found {
		args = append(args, h.mount)
	}
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	c := exec.Command("/bin/sh", args...)
	c.ExtraFiles = []*os.File{self}
	c.Env = []string{childEnv + "=open 0", joinEnv + "=0", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), unix.EROFS.Error())
	assert.Contains(t, string(out), fixReadOnly)
}

// TestWithoutRights opens as a user who may not make cgroups.
func TestWithoutRights(t *testing.T) {
	open(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	c := command("open 0", nil)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.Output()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "loginctl enable-linger 65534")
}

// TestJoinAsAnotherUser joins by inherited descriptors as a user who may not open the files.
func TestJoinAsAnotherUser(t *testing.T) {
	m := open(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	g := acquire(t, m, Limits{MemoryBytes: 64 << 20, PIDs: 32, CPUs: 1})
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 165532, Gid: 165532}}
	for _, s := range g.spots {
		c := exec.Command("/bin/sh", "-c", "echo 0 > "+s.d.path("cgroup.procs"))
		c.SysProcAttr = nobody
		assert.Error(t, c.Run(), "control: it cannot open the file itself")
	}
	c := command("touch 96", g.Procs())
	c.SysProcAttr = nobody
	require.NoError(t, c.Start())
	assert.Error(t, c.Wait())
	assert.True(t, signaled(c.ProcessState), "it was in the group")
}

// fakeV1 is a directory tree that looks like a memory hierarchy without swap accounting.
func fakeV1(t *testing.T, swaps string) Config {
	t.Helper()
	base := t.TempDir()
	mounts := fmt.Sprintf("1 2 0:3 / %s rw - cgroup c rw,memory\n", base)
	return Config{
		Mounts: writeSource(t, mounts, "1:memory:/\n", swaps),
		standIn: fill(map[string]string{
			"memory.limit_in_bytes": "", "memory.swappiness": "60", "memory.max_usage_in_bytes": "4096",
			"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "cgroup.procs": "", "cgroup.event_control": "",
		}),
	}
}

// fill returns a function that writes files into a directory.
func fill(files map[string]string) func(string) error {
	return func(dir string) error {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
}

const swapHeading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"

func TestSwapWithoutMemsw(t *testing.T) {
	m, err := Open(fakeV1(t, swapHeading))
	require.NoError(t, err, "control: without swap the plain limit is enough")
	assert.NoError(t, m.Controller(Memory))
	require.NoError(t, m.Close())

	_, err = Open(fakeV1(t, swapHeading+"/dev/zram0  partition\t1\t0\t-2\n"))
	assert.Equal(t, fixSwap, fixOf(t, err))
	assert.True(t, strings.Contains(err.Error(), memswLimit), err)
}
