//go:build linux

package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// judgeAll makes attempts both ways: each in a sandbox of its own, or, where a sandbox is dear, those that need nothing of
// their own in one.
func (h *harness) judgeAll(t *testing.T, attempts []attempt) {
	shared := map[[2]bool][]attempt{}
	seen := map[string]bool{}
	for _, a := range attempts {
		if h.together && a.plain() && !seen[a.name] { // verdicts are told apart by their names
			kind := [2]bool{a.writable, a.exec}
			seen[a.name] = true
			shared[kind] = append(shared[kind], a)
			continue
		}
		if !h.brief {
			h.judge(t, a)
		}
	}
	for _, same := range shared {
		h.judgeTogether(t, same)
	}
}

// plain reports whether an attempt needs nothing but a place: not even the sandbox's own first process as its parent.
func (a attempt) plain() bool {
	return !a.supervised && !a.freezes && a.setup == nil && a.proof == nil && a.profile == nil && a.guarantee == "" && !a.ownCopy
}

// judgeTogether makes attempts that share a place in one sandbox, one after the other. An attempt that dies takes no other
// along, and one that was not reached fails.
func (h *harness) judgeTogether(t *testing.T, attempts []attempt) {
	f := h.newFixture(t)
	p := h.profile(t, attempts[0], f)
	p.Limits.Wall = 5 * time.Minute
	before := treeSum(t, f.dir)
	res, err := h.b.Run(t.Context(), p, sandbox.Command{Argv: []string{"/bin/sh", "-c", h.script(attempts, f)}})
	require.NoError(t, err, "the sandbox did not run")
	require.Equal(t, sandbox.StatusExited, res.Status, "stderr: %s", res.Stderr)
	for _, a := range attempts {
		t.Run(a.title(), func(t *testing.T) {
			control := h.control(t, a)
			o := a.outcome(t, res)
			assert.False(t, o.success, "the attempt succeeded: %s", o.detail)
			t.Logf("unconfined: %s; confined: %s", control.detail, o.detail)
			h.tally.record(a.title(), control.success, control.detail)
		})
	}
	if !attempts[0].writable {
		assert.Equal(t, before, treeSum(t, f.dir), "a tree that was mounted read-only changed")
	}
}

// script is a shell's, which makes the attempts.
func (h *harness) script(attempts []attempt, f *fixture) string {
	var lines strings.Builder
	for _, a := range attempts {
		argv := append([]string{helperDir + "/" + filepath.Base(h.helper)},
			a.arguments(side{place: placeDir, host: f.dir, confined: true, f: f})...)
		for _, arg := range argv {
			lines.WriteString("'" + strings.ReplaceAll(arg, "'", `'\''`) + "' ")
		}
		lines.WriteString("\n")
	}
	return lines.String() + "exit 0\n"
}

// give makes a place the owner's, when ids inside are the host's.
func (h *harness) give(t *testing.T, dir string) {
	t.Helper()
	if h.owner != 0 {
		require.NoError(t, os.Chown(dir, h.owner, h.owner))
	}
}
