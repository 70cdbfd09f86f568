package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeSystemd makes scopes below a directory tree.
type fakeSystemd struct {
	top    string
	scopes []string
	absent error
}

func (f *fakeSystemd) askable() error { return f.absent }

func (f *fakeSystemd) scope(_ context.Context, pid int) (string, error) {
	name := fmt.Sprintf("/app.slice/toolcell-%d.scope", pid)
	dir := filepath.Join(f.top, name)
	f.scopes = append(f.scopes, dir)
	return name, errors.Join(os.MkdirAll(dir, 0o755), fill(groupFiles())(dir))
}

func (f *fakeSystemd) attach(context.Context, scopeGroup, int) error {
	return errors.New("not expected")
}

// undelegated has the process in a cgroup that passes no controller on.
func undelegated(t *testing.T, f *fakeSystemd) Config {
	t.Helper()
	c, base := fakeV2(t, nil)
	f.top = filepath.Dir(base)
	require.NoError(t, os.WriteFile(filepath.Join(base, "cgroup.controllers"), nil, 0o600))
	c.scopes = f
	return c
}

func TestScopeAroundTheSpawner(t *testing.T) {
	f := &fakeSystemd{}
	m, err := Open(undelegated(t, f))
	require.NoError(t, err)
	defer m.Close()
	assert.Equal(t, fixPlace, fixOf(t, m.Controller(Memory)), "control: nothing before the spawner is there")
	_, err = m.Acquire(Limits{PIDs: 8})
	assert.ErrorIs(t, err, errNotPlaced)
	assert.Empty(t, f.scopes)

	require.NoError(t, m.PlaceSpawner(101))
	require.Len(t, f.scopes, 1)
	assertFile(t, "101", filepath.Join(f.scopes[0], "spawner"), "cgroup.procs")
	for _, name := range []string{Memory, PIDs, CPU, CPUAcct} {
		assert.NoError(t, m.Controller(name))
	}
	g, err := m.Acquire(Limits{PIDs: 8})
	require.NoError(t, err)
	assert.Equal(t, f.scopes[0], filepath.Dir(g.spots[0].d.path("")))

	require.NoError(t, m.PlaceSpawner(102))
	assert.Len(t, f.scopes, 1, "a second spawner joins the first")
	assertFile(t, "102", filepath.Join(f.scopes[0], "spawner"), "cgroup.procs")

	require.NoError(t, os.RemoveAll(f.scopes[0]), "as systemd does when the last spawner has ended")
	_, err = m.Acquire(Limits{PIDs: 8})
	assert.Error(t, err)
	require.NoError(t, m.PlaceSpawner(103))
	require.Len(t, f.scopes, 2)
	next, err := m.Acquire(Limits{PIDs: 8})
	require.NoError(t, err)
	assert.Equal(t, f.scopes[1], filepath.Dir(next.spots[0].d.path("")))
	g.Release()
	next.Release()
	require.NoError(t, m.Close())
	assert.NoDirExists(t, f.scopes[1])
}

// TestScopeRefused has no controllers and no systemd to ask.
func TestScopeRefused(t *testing.T) {
	_, err := Open(undelegated(t, &fakeSystemd{absent: os.ErrPermission}))
	require.ErrorIs(t, err, errNoControllers)
	require.ErrorIs(t, err, os.ErrPermission)
	assert.Equal(t, fixRights(), fixOf(t, err))
}
