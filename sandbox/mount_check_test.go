//go:build !windows

package sandbox

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realTemp returns a temporary directory by a path without links.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func at(source string) Mount { return Mount{Source: source, Target: "/workspace"} }

func TestMountCheck(t *testing.T) {
	dir := realTemp(t)
	odd := filepath.Join(dir, "a b:c,d\"e\\f\ng\xff")
	require.NoError(t, os.Mkdir(odd, 0o700))
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("file", link))
	for source, want := range map[string]string{dir: dir, odd: odd, file: file, link: file} {
		got, err := at(source).Resolve()
		if err != nil && strings.ContainsRune(source, '\xff') {
			continue // Some systems accept only UTF-8 in names; then the directory is not there.
		}
		require.NoError(t, err, "%q", source)
		assert.Equal(t, want, got)
		assert.NoError(t, at(source).Check())
	}
}

func TestMountCheckKindOfFile(t *testing.T) {
	dir := realTemp(t)
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	device := filepath.Join(dir, "null")
	require.NoError(t, os.Symlink("/dev/null", device))
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink("loop", loop))
	for _, source := range []string{fifo, socket, device, loop} {
		assert.ErrorIs(t, at(source).Check(), ErrInvalid, source)
	}
	err = at(filepath.Join(dir, "missing")).Check()
	assert.ErrorIs(t, err, ErrInvalid)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.NotEmpty(t, e.Fix)
	_, err = os.Lstat(filepath.Join(dir, "missing"))
	assert.ErrorIs(t, err, fs.ErrNotExist, "nothing is created")
}

// A link does not make a forbidden place allowed.
func TestMountCheckLinks(t *testing.T) {
	dir := realTemp(t)
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	for name, target := range map[string]string{
		"root": "/", "etc": "/etc", "passwd": "/etc/passwd", "dev": "/dev", "home": home, "homes": filepath.Dir(home), "up": "../../../../../../../..", "run": "/var",
	} {
		link := filepath.Join(dir, name)
		require.NoError(t, os.Symlink(target, link))
		assert.ErrorIs(t, at(link).Check(), ErrInvalid, name)
		assert.ErrorIs(t, at(link+"/.").Validate(), ErrInvalid, name)
	}
	parent := filepath.Join(dir, "parent")
	require.NoError(t, os.Symlink("/etc", parent))
	assert.ErrorIs(t, at(parent+"/ssl").Check(), ErrInvalid)
}

func TestMountCheckHomes(t *testing.T) {
	base := realTemp(t)
	home := filepath.Join(base, "homes", "someone")
	workspace := filepath.Join(home, "workspace")
	require.NoError(t, os.MkdirAll(workspace, 0o700))
	t.Setenv("HOME", "/nonexistent")
	for _, source := range []string{base, home, workspace} {
		require.NoError(t, at(source).Check(), "nobody's home yet: %s", source)
	}
	t.Setenv("HOME", home)
	assert.ErrorIs(t, at(home).Check(), ErrInvalid)
	assert.ErrorIs(t, at(filepath.Dir(home)).Check(), ErrInvalid)
	assert.ErrorIs(t, at(base).Check(), ErrInvalid)
	assert.NoError(t, at(workspace).Check())
}

func TestPasswdHomes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	require.NoError(t, os.WriteFile(file, []byte("a:x:1:1::/home/a:/bin/sh\nbroken\n+::::::\nb:x:2:2:::\nc:x:3:3::/:/bin/sh"), 0o600))
	assert.Equal(t, []string{"/home/a", "", "", "/"}, passwdHomes(file))
	assert.Empty(t, existingDirs([]string{"", "/", "relative", "/nonexistent/x", file}))
	assert.Empty(t, passwdHomes(file+"-missing"))
}

func TestMountCheckProtected(t *testing.T) {
	dir := realTemp(t)
	config := filepath.Join(dir, "gateway", "config")
	inside := filepath.Join(config, "keys")
	beside := filepath.Join(dir, "gateway", "configuration")
	for _, d := range []string{inside, beside} {
		require.NoError(t, os.MkdirAll(d, 0o700))
	}
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("gateway", link))
	planned := filepath.Join(beside, "not-yet", "config.yaml")

	for _, protected := range []string{config, config + "/", filepath.Join(link, "config")} {
		for _, source := range []string{config, inside, filepath.Dir(config), dir, link, filepath.Join(link, "config", "keys")} {
			require.NoError(t, at(source).Check(), "allowed when nothing is protected: %s", source)
			err := at(source).Check("/nonexistent", protected)
			assert.ErrorIs(t, err, ErrRefused, "%s with %s protected", source, protected)
		}
		assert.NoError(t, at(beside).Check(protected))
	}
	assert.ErrorIs(t, at(beside).Check(planned), ErrRefused, "a protected file that does not exist yet")
	assert.NoError(t, at(inside).Check(planned))
}

func TestMountCheckSockets(t *testing.T) {
	dir := realTemp(t)
	agent := filepath.Join(dir, "agents", "one")
	require.NoError(t, os.MkdirAll(agent, 0o700))
	beside := filepath.Join(dir, "beside")
	require.NoError(t, os.Mkdir(beside, 0o700))
	socket := filepath.Join(agent, "s")
	for _, name := range []string{"SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "CONTAINER_HOST"} {
		t.Setenv(name, "")
	}
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, at(dir).Check(), "an unknown socket is left to the kernel's means")

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(socket, link))
	for name, value := range map[string]string{
		"SSH_AUTH_SOCK": socket, "DOCKER_HOST": "unix://" + socket, "CONTAINER_HOST": "unix://" + link,
		"DBUS_SESSION_BUS_ADDRESS": "tcp:host=x;unix:path=" + socket + ",guid=1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			for _, source := range []string{agent, filepath.Dir(agent), dir} {
				err := at(source).Check()
				require.ErrorIs(t, err, ErrRefused, source)
				var e *Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, IPCNoHostSockets, e.Guarantee)
			}
			assert.NoError(t, at(beside).Check())
		})
	}
	t.Run("an engine of the user", func(t *testing.T) {
		dir := filepath.Join(dir, "h[o]*me")
		t.Setenv("HOME", dir)
		run := filepath.Join(dir, ".docker", "run")
		require.NoError(t, os.MkdirAll(run, 0o700))
		l, err := net.Listen("unix", filepath.Join(run, "docker.sock"))
		require.NoError(t, err)
		defer l.Close()
		assert.ErrorIs(t, at(run).Check(), ErrRefused)
		assert.ErrorIs(t, at(filepath.Dir(run)).Check(), ErrRefused)
	})
}
