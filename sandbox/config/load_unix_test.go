//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/config"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestSearchPath(t *testing.T) {
	for _, tc := range []struct {
		env  env
		want []string
	}{
		{env{"HOME": "/home/op"}, []string{"/home/op/.config/toolcell/config.yaml", "/etc/toolcell/config.yaml"}},
		{env{"HOME": "/home/op", "XDG_CONFIG_HOME": "/cfg"}, []string{"/cfg/toolcell/config.yaml", "/etc/toolcell/config.yaml"}},
		{env{"HOME": "/home/op", "XDG_CONFIG_HOME": "cfg"}, []string{"/home/op/.config/toolcell/config.yaml", "/etc/toolcell/config.yaml"}},
		{env{"HOME": "op"}, []string{"/etc/toolcell/config.yaml"}},
		{env{}, []string{"/etc/toolcell/config.yaml"}},
	} {
		assert.Equal(t, tc.want, config.Options{GOOS: "linux", LookupEnv: tc.env.lookup}.SearchPath(), tc.env)
	}
	assert.Equal(t, []string{"/etc/toolcell/config.yaml"}, config.Options{GOOS: "linux"}.SearchPath(), "no environment")
	// Drive letters are paths on Windows alone; the variables are what is tested here.
	win := config.Options{GOOS: "windows", LookupEnv: env{"AppData": "/u", "ProgramData": "/m", "HOME": "/h"}.lookup}
	assert.Equal(t, []string{"/u/toolcell/config.yaml", "/m/toolcell/config.yaml"}, win.SearchPath())
}

func TestLoadOrder(t *testing.T) {
	dir := t.TempDir()
	pids := func(name, n string) string {
		return write(t, filepath.Join(dir, name), "runtime: {sandbox: {pids: "+n+"}}")
	}
	named, variable := pids("named.yaml", "1"), pids("variable.yaml", "2")
	pids("xdg/toolcell/config.yaml", "3")
	e := env{"TOOLCELL_CONFIG": variable, "XDG_CONFIG_HOME": filepath.Join(dir, "xdg")}
	load := func(o config.Options) *config.Config {
		o.LookupEnv = e.lookup
		c, err := config.Load(o)
		require.NoError(t, err)
		return c
	}
	c := load(config.Options{File: named})
	assert.Equal(t, 1, c.Sandbox.PIDs)
	assert.Equal(t, named, c.File)
	assert.Equal(t, 2, load(config.Options{}).Sandbox.PIDs)
	delete(e, "TOOLCELL_CONFIG")
	assert.Equal(t, 3, load(config.Options{}).Sandbox.PIDs)

	// A relative name is found from the working directory and told in full.
	t.Chdir(dir)
	assert.Equal(t, named, load(config.Options{File: "named.yaml"}).File)

	for _, home := range []string{"/nonexistent", os.DevNull, named} {
		e = env{"HOME": home, "XDG_CONFIG_HOME": ""}
		if _, err := os.Stat("/etc/toolcell/config.yaml"); err != nil {
			assert.Empty(t, load(config.Options{}).File, "no file is no error: %s", home)
		}
	}
}

// A file that is named has to be there, and one that is there has to be readable; neither is passed over.
func TestLoadFailsClosed(t *testing.T) {
	dir := t.TempDir()
	_, err := config.Load(config.Options{File: filepath.Join(dir, "none.yaml")})
	checkProblems(t, err)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = config.Load(config.Options{LookupEnv: env{"TOOLCELL_CONFIG": filepath.Join(dir, "none.yaml")}.lookup})
	require.ErrorIs(t, err, os.ErrNotExist)

	user := filepath.Join(dir, "toolcell", "config.yaml")
	require.NoError(t, os.MkdirAll(user, 0o755))
	_, err = config.Load(config.Options{LookupEnv: env{"XDG_CONFIG_HOME": dir}.lookup})
	require.ErrorContains(t, err, user+": it is no regular file (name a file")

	require.NoError(t, os.Remove(user))
	require.NoError(t, syscall.Mkfifo(user, 0o600))
	_, err = config.Load(config.Options{File: user})
	require.ErrorContains(t, err, "it is no regular file", "and nobody waits for its writer")

	require.NoError(t, os.Remove(user))
	require.NoError(t, os.WriteFile(user, make([]byte, 1<<20+1), 0o600))
	_, err = config.Load(config.Options{File: user})
	require.ErrorContains(t, err, "larger than 1048576 bytes")
}

// Who else than root and the caller may write the file could waive a guarantee.
func TestOwnership(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.yaml"), "{}")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o400: true, 0o664: false, 0o646: false, 0o666: false, 0o620: false} {
		require.NoError(t, os.Chmod(file, mode))
		_, err := config.Load(config.Options{File: file})
		assert.Equal(t, ok, err == nil, "%04o: %v", mode, err)
		if err != nil {
			assert.Contains(t, err.Error(), "chmod go-w")
		}
	}
	require.NoError(t, os.Chmod(file, 0o644))
	link := filepath.Join(t.TempDir(), "link.yaml")
	require.NoError(t, os.Symlink(file, link))
	_, err := config.Load(config.Options{File: link})
	require.NoError(t, err, "a link to a file of the caller's is the caller's word")

	if os.Geteuid() != 0 {
		return // only root can give a file away
	}
	require.NoError(t, os.Chown(file, 12345, 0))
	for _, f := range []string{file, link} {
		_, err = config.Load(config.Options{File: f})
		require.ErrorContains(t, err, "it belongs to uid 12345")
	}
	agent, err := config.LoadAgent(file)
	require.NoError(t, err, "a manifest holds no waivers and is anybody's")
	assert.Equal(t, filepath.Base(filepath.Dir(file)), agent.ID)
}
