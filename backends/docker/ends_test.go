package docker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

// An engine that does not answer is given up after a bound, and a call's context is not what ends the making of a
// container.
func TestHangingEngine(t *testing.T) {
	f := newFake()
	f.hang = map[string]bool{"info": true}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Config{Client: f, Helper: helperProgram(t), StateDir: t.TempDir()})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// A call that is canceled asks init to end, and when that does not help removes the container by name.
func TestCancel(t *testing.T) {
	f := newFake()
	running := make(chan struct{})
	f.init = speaks(func(_ *frame.Call, say func(frame.Type, []byte)) *frame.Ending {
		say(frame.Stdout, []byte("so far"))
		close(running)
		select {}
	})
	stuck := f.init
	f.init = func(i Invocation) int {
		go stuck(i)
		<-running
		for !slices.Contains(f.verbs(), "rm") {
			time.Sleep(time.Millisecond)
		}
		return 137
	}
	b := openFake(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	res, err := b.Run(ctx, sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, res.Status)
	assert.Equal(t, "so far", string(res.Stdout))
}

// What the engine has is another image than a moment ago: it is looked at again, once.
func TestImageReplaced(t *testing.T) {
	f := newFake()
	b := openFake(t, f)
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	f.image = `[{"Id":"sha256:2","Config":{}}]`
	f.lie = func(m map[string]any) { m["Image"] = "sha256:2" }
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	f.lie = func(m map[string]any) { m["Image"] = "sha256:3" }
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.Error(t, err, "it is not replaced for ever")
}

// A session is not opened on an image that was looked at before it was replaced; the next attempt looks again.
func TestSessionImageReplaced(t *testing.T) {
	f := newFake()
	f.init = waits
	b := openFake(t, f)
	s, err := b.OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	f.image = `[{"Id":"sha256:2","Config":{}}]`
	f.lie = func(m map[string]any) { m["Image"] = "sha256:2" }
	_, err = b.OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.ErrorIs(t, err, errImageChanged)
	s, err = b.OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// A call whose program was killed and does not end takes its session along: nobody can say what it still does.
func TestSessionProgramStays(t *testing.T) {
	f := newFake()
	f.init = waits
	f.exec = speaks(func(*frame.Call, func(frame.Type, []byte)) *frame.Ending {
		return &frame.Ending{Cause: frame.CauseTimeout}
	})
	s, err := openFake(t, f).OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.NoError(t, err)
	res, err := s.Run(t.Context(), program("x"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusTimeout, res.Status)
	require.Error(t, s.Err())
	_, err = s.Run(t.Context(), program("x"))
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// Nothing of a backend is left when it is closed.
func TestCloseLeavesNothing(t *testing.T) {
	state := t.TempDir()
	b, err := Open(t.Context(), Config{Client: newFake(), Image: "image", Helper: helperProgram(t), StateDir: state})
	require.NoError(t, err)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	entries, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	left, err := filepath.Glob(state + "/*")
	require.NoError(t, err)
	assert.Empty(t, left)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
}
