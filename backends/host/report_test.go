package host

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func TestEveryGuaranteeIsAbsent(t *testing.T) {
	for _, mode := range []Mode{Limits, Unsandboxed} {
		if mode == Limits && runtime.GOOS == "windows" {
			continue
		}
		b, err := Open(Config{Mode: mode})
		require.NoError(t, err)
		r, err := b.Ready(context.Background(), sandbox.ContainerProfile{})
		require.NoError(t, err)
		require.Len(t, r, len(sandbox.Guarantees()))
		for i, g := range sandbox.Guarantees() {
			assert.Equal(t, g, r[i].Guarantee)
			assert.False(t, r[i].Enforced, g)
			assert.Empty(t, r[i].Mechanism, g)
			assert.NotEmpty(t, r[i].Reason, g)
			assert.NotEmpty(t, r[i].Fix, g)
		}
		assert.Equal(t, Name, b.Name())
	}
}

func TestModeHasToBeGiven(t *testing.T) {
	for _, mode := range []Mode{"", "host", "LIMITS", "none"} {
		b, err := Open(Config{Mode: mode})
		require.ErrorIs(t, err, sandbox.ErrInvalid)
		assert.Nil(t, b)
	}
}

// What a profile promises to somebody and the host cannot give is refused; only Require makes a guarantee such a promise.
func TestProfilesThatTheHostRefuses(t *testing.T) {
	b, err := Open(Config{Mode: Unsandboxed})
	require.NoError(t, err)
	for name, p := range map[string]sandbox.ContainerProfile{
		"image":       {Image: "python:3.12-slim"},
		"network":     {Network: "bridge"},
		"runtime":     {Runtime: "runsc"},
		"user":        {User: "1000:1000"},
		"mount":       {Mounts: []string{"/srv/data:/data"}},
		"read-only":   {Binds: []sandbox.Mount{{Source: "/srv/data", Target: "/srv/data"}}},
		"requirement": {Require: []sandbox.Guarantee{sandbox.LimitOutput}},
	} {
		for _, err := range []error{check(b.Ready(context.Background(), p)), b.Prepare(context.Background(), p), ran(b, p)} {
			assert.ErrorIs(t, err, sandbox.ErrRefused, name)
		}
	}
	assert.ErrorIs(t, ran(b, sandbox.ContainerProfile{Limits: sandbox.Limits{OpenFiles: -1}}), sandbox.ErrInvalid)
	assert.ErrorIs(t, ran(b, sandbox.ContainerProfile{Workdir: "relative"}), sandbox.ErrInvalid)
	assert.NoError(t, b.Prepare(context.Background(), sandbox.ContainerProfile{
		Image: "host", Mounts: []string{"/srv/data:/srv/data"}, Interpreters: []string{"/usr/bin/python3"}, ScratchExec: true,
	}))
}

func check(_ sandbox.Report, err error) error { return err }

func ran(b *Backend, p sandbox.ContainerProfile) error {
	_, err := b.Run(context.Background(), p, sandbox.Command{Argv: []string{"true"}})
	return err
}

func TestResultInJSON(t *testing.T) {
	b, err := Open(Config{Mode: Unsandboxed})
	require.NoError(t, err)
	program := []string{"true"}
	if runtime.GOOS == "windows" {
		program = []string{"cmd", "/c", "exit 0"}
	}
	r, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: program})
	require.NoError(t, err)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var got struct {
		Backend     string
		Enforcement []sandbox.Enforcement
		Hints       []string
		MaxMemory   *int64 `json:"max_memory_bytes"`
	}
	require.NoError(t, json.Unmarshal(data, &got))
	assert.Equal(t, "host", got.Backend)
	assert.Len(t, got.Enforcement, len(sandbox.Guarantees()))
	assert.NotNil(t, got.Hints)
	assert.Nil(t, got.MaxMemory)
}

func TestOpenSaysWhatItIs(t *testing.T) {
	for mode, want := range map[Mode]string{Limits: "level=WARN", Unsandboxed: "level=ERROR"} {
		if mode == Limits && runtime.GOOS == "windows" {
			continue
		}
		var log bytes.Buffer
		_, err := Open(Config{Mode: mode, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		assert.Contains(t, log.String(), want)
		assert.Contains(t, log.String(), "host")
	}
}

func TestFilter(t *testing.T) {
	env := []string{"PATH=/bin", "SECRET=1", "A=1", "A=2", "odd name=1", "B\tC=1", "=C:=x", "é=1", "junk", "HOME=", "D=a=b"}
	assert.Equal(t, []string{"PATH=/bin", "HOME="}, Filter(env, nil))
	assert.Equal(t, []string{"PATH=/bin", "A=1", "é=1", "HOME=", "D=a=b"},
		Filter(env, []string{"A", "UNSET", "odd name", "B\tC", "", "é", "D", "D=a", "junk", "SECRET=1"}))
}

func TestMerge(t *testing.T) {
	assert.Equal(t, []string{"A=3", "B=2", "C=5"}, merge([]string{"A=1", "B=2"}, nil, []string{"A=3", "C=4", "C=5"}))
	assert.Empty(t, merge())
}
