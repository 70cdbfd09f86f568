//go:build unix

package conformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// deadlines: the wall clock, the caller's context, and a context that is dead already.
func (e *env) deadlines(t *testing.T) {
	short := e.with(func(p *sandbox.ContainerProfile) { p.Limits.Wall = 500 * time.Millisecond })
	t.Run("the profile's", e.profileDeadline)
	t.Run("the call's", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"sleep", "600"}, Timeout: 300 * time.Millisecond}
		assert.Equal(t, sandbox.StatusTimeout, e.run(t, e.profile(), c).Status)
	})
	t.Run("the call asks for more", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"true"}, Timeout: time.Second}
		e.refused(t, short, c, sandbox.ErrRefused, sandbox.ErrInvalid)
	})
	t.Run("canceled", e.canceled)
	t.Run("context dead before the start", e.deadContext)
}

// profileDeadline: on a slow machine a program may not come to say anything before a short deadline, so that what it said
// is looked for under a longer one.
func (e *env) profileDeadline(t *testing.T) {
	said := ""
	for wall := 500 * time.Millisecond; said == "" && wall < time.Minute; wall *= 4 {
		m := marker(t)
		res := e.run(t, e.with(func(p *sandbox.ContainerProfile) { p.Limits.Wall = wall }), sandbox.Command{Argv: e.probe("hang", m)})
		assert.Equal(t, sandbox.StatusTimeout, res.Status)
		assert.Equal(t, -1, res.ExitCode)
		assert.Empty(t, res.Signal)
		gone(t, m)
		said = string(res.Stdout)
	}
	assert.Equal(t, "hanging\n", said, "output before the deadline is kept")
}

func (e *env) canceled(t *testing.T) {
	m := marker(t)
	out := newTap("hanging")
	done, cancel := e.background(t, e.profile(), sandbox.Command{Argv: e.probe("hang", m), Stdout: out})
	out.await(t, done)
	if !e.OtherKernel {
		require.NotEmpty(t, holding(t, m), "the marker cannot be seen from here, so its absence would mean nothing")
	}
	cancel()
	o := <-done
	require.NoError(t, o.err)
	assert.Equal(t, sandbox.StatusCanceled, o.res.Status)
	assert.Equal(t, -1, o.res.ExitCode)
	assert.Equal(t, "hanging\n", string(o.res.Stdout))
	gone(t, m)
}

func (e *env) deadContext(t *testing.T) {
	dir := e.workspace(t)
	p := e.with(func(p *sandbox.ContainerProfile) {
		p.Binds = append(p.Binds, sandbox.Mount{Source: dir, Target: "/out", Writable: true})
	})
	for name, make := range map[string]func() (context.Context, context.CancelFunc){
		"canceled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		},
		"expired": func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := make()
			defer cancel()
			res, err := e.b.Run(ctx, p, sh("touch /out/ran"))
			require.Error(t, err)
			checkRefusal(t, res, err)
			assert.ErrorIs(t, err, ctx.Err())
			assert.NoFileExists(t, filepath.Join(dir, "ran"))
		})
	}
}

// survivors: when Run returns, nothing of the sandbox is left, and orphans do not keep it from returning.
func (e *env) survivors(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.Wall = 20 * time.Second })
	hang := func(m string) string { return e.probe("hang")[0] + " hang " + m }
	for name, script := range map[string]string{
		"background child":       "%s & echo hi",
		"own session":            "setsid %s & echo hi",
		"own session, stderr":    "setsid %s >&2 & echo hi",
		"double fork":            "(setsid sh -c '%s & exit' &); echo hi",
		"nohup":                  "nohup %s 2>/dev/null & echo hi",
		"stopped":                "%s & kill -STOP $!; echo hi",
		"many, ignoring signals": "trap '' TERM INT HUP; for i in 1 2 3 4 5; do %s & done; echo hi",
		"reading the same stdin": "%s <&0 & echo hi",
	} {
		t.Run(name, func(t *testing.T) {
			m := marker(t)
			in, feed := io.Pipe()
			defer feed.Close()
			c := sh(fmt.Sprintf(script, hang(m)))
			c.Stdin = in
			res := e.run(t, p, c)
			// A backend that waits for the orphans would end at the deadline.
			assert.Equal(t, sandbox.StatusExited, res.Status)
			assert.Contains(t, string(res.Stdout), "hi\n")
			gone(t, m)
		})
	}
	t.Run("deadline with signals ignored", func(t *testing.T) {
		m := marker(t)
		p.Limits.Wall = 500 * time.Millisecond
		res := e.run(t, p, sh(fmt.Sprintf("trap '' TERM INT HUP QUIT; setsid %s & while :; do sleep 0.1; done", hang(m))))
		assert.Equal(t, sandbox.StatusTimeout, res.Status)
		gone(t, m)
	})
	t.Run("late output of an orphan", func(t *testing.T) {
		res := e.run(t, e.profile(), sh("(sleep 0.02; echo late) & echo early"))
		assert.Equal(t, sandbox.StatusExited, res.Status)
		assert.Equal(t, "early\nlate\n", string(res.Stdout))
	})
	t.Run("orphans are reaped", func(t *testing.T) {
		assert.Equal(t, "0\n", e.ok(t, e.profile(), sandbox.Command{Argv: e.probe("zombies", "100")}))
	})
}

// concurrency: many calls at once do not mix.
func (e *env) concurrency(t *testing.T) {
	calls := 64
	if e.Slow {
		calls = 8
	}
	outcomes := make([]outcome, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			c := sh(fmt.Sprintf("read line; echo $line; echo err-%d >&2; ls /tmp/mine* 2>/dev/null; echo > /tmp/mine-%d; ls /tmp/mine*; exit %d", i, i, i))
			c.Stdin = strings.NewReader(fmt.Sprintf("in-%d\n", i))
			res, err := e.b.Run(t.Context(), e.profile(), c)
			outcomes[i] = outcome{res, err}
		})
	}
	wg.Wait()
	ids := map[string]bool{}
	for i, o := range outcomes {
		require.NoError(t, o.err)
		assert.Equal(t, i, o.res.ExitCode)
		assert.Equal(t, fmt.Sprintf("in-%d\n/tmp/mine-%d\n", i, i), string(o.res.Stdout))
		assert.Equal(t, fmt.Sprintf("err-%d\n", i), string(o.res.Stderr))
		ids[o.res.ID] = true
	}
	assert.Len(t, ids, calls)
	e.sameID(t)
}

// sameID: a caller's own names for its calls need not be unique.
func (e *env) sameID(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res, err := e.b.Run(t.Context(), e.profile(), sandbox.Command{Argv: []string{"sleep", "0.2"}, ID: "same"})
			assert.NoError(t, err)
			assert.Equal(t, "same", res.ID)
			assert.Equal(t, sandbox.StatusExited, res.Status)
		})
	}
	wg.Wait()
}

// closing: Close ends what runs and leaves nothing.
func (e *env) closing(t *testing.T) {
	own := &env{Suite: e.Suite, b: e.Open(t)}
	m := marker(t)
	out := newTap("hanging")
	done, _ := own.background(t, own.profile(), sandbox.Command{Argv: own.probe("hang", m), Stdout: out})
	out.await(t, done)
	require.NoError(t, own.b.Close())
	gone(t, m)
	o := <-done
	if o.err == nil {
		assert.Contains(t, []sandbox.Status{sandbox.StatusCanceled, sandbox.StatusSignaled}, o.res.Status)
	}
	own.refused(t, own.profile(), sandbox.Command{Argv: []string{"true"}}, sandbox.ErrRefused, sandbox.ErrUnavailable)
	assert.Equal(t, "still\n", e.ok(t, e.profile(), sh("echo still")), "another backend is not concerned")
}

// leaks: calls of every outcome leave no descriptor behind in the caller.
func (e *env) leaks(t *testing.T) {
	round := func() {
		e.run(t, e.profile(), sh("exit 3"))
		e.run(t, e.profile(), sandbox.Command{Argv: []string{"sleep", "600"}, Timeout: 100 * time.Millisecond})
		e.refused(t, e.profile(), sandbox.Command{Argv: []string{"/nonexistent"}}, sandbox.ErrNotFound)
		e.run(t, e.profile(), sandbox.Command{Argv: []string{"true"}, Stdin: io.LimitReader(zeros{}, 1<<20)})
	}
	round() // what is opened once and kept is opened here
	before := descriptors(t)
	rounds := 20
	if e.Slow {
		rounds = 4
	}
	for range rounds {
		round()
	}
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, 10*time.Second, 20*time.Millisecond,
		"descriptors before: %d, now: %d", before, descriptors(t))
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
