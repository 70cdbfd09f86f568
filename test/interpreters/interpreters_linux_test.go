package interpreters_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// A program does the same in a fresh interpreter and in one that was started ahead of it.
func TestPython(t *testing.T) {
	compare(t, append(corpus(t, "testdata", python()), sources()...), 110)
}

// A program does the same in a fresh interpreter and in one that was started ahead of it.
func TestNode(t *testing.T) {
	compare(t, corpus(t, "testdata", node()), 55)
}

// compare runs every program cold and in an interpreter that was started ahead of it; in a long run, and when these two
// differ, cold again: two that are the same show that the program is deterministic. There are at least so many programs.
func compare(t *testing.T, programs []program, least int) {
	assert.GreaterOrEqual(t, len(programs), least)
	b := open(t)
	requireInterpreter(t, b, programs[0].language)
	t.Cleanup(func() { // when all have ended
		assert.Equal(t, len(programs), served(b), "each call ahead finds what was started for it")
	})
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			first := run(t, b, p, cold())
			t.Logf("%s", first)
			asSaid(t, p, first)
			last := run(t, b, p, ahead(sandbox.Arming{}))
			if os.Getenv("TOOLCELL_TEST_LONG") != "" || first.String() != last.String() {
				require.Equal(t, first.String(), run(t, b, p, cold()).String(), "cold and cold")
			}
			assert.Equal(t, first.String(), last.String(), "cold and ahead")
		})
	}
}

// asSaid holds an outcome against what the program says of itself: one that fails early has shown nothing.
func asSaid(t *testing.T, p program, o outcome) {
	t.Helper()
	ends, said := p.ends()
	assert.Equal(t, ends, o.ended, "%s", o)
	assert.NotEmpty(t, o.stdout+o.stderr, "it shows something")
	if !said {
		assert.Empty(t, o.stderr)
	}
}

// place is the least of a chooser: everything runs at one place.
type place tools.Place

func (p place) Choose(context.Context, tools.Request) (tools.Place, error) {
	return tools.Place(p), nil
}

// What run starts is what run_code starts: the arguments, the environment, the directories and what can be done to them.
func TestAsRunCode(t *testing.T) {
	b := open(t)
	for l, code := range map[string]string{
		"python": "import os, sys\nprint(sys.orig_argv, sys.argv, sorted(os.environ.items()), os.getcwd(), os.listdir('/code'))\n" +
			"for f in '/code', '/code/main.py', '/output':\n s = os.stat(f)\n print(f, oct(s.st_mode & 0o222), s.st_uid, os.access(f, os.W_OK))\n",
		"node": "const fs = require('fs')\nconsole.log(process.execPath, process.execArgv, process.argv, process.env, process.cwd(), fs.readdirSync('/code'))\n",
	} {
		p := program{language: python(), main: "main.py", files: map[string][]byte{"main.py": []byte(code)}}
		if l == "node" {
			p = program{language: node(), main: "main.js", files: map[string][]byte{"main.js": []byte(code)}}
		}
		requireInterpreter(t, b, p.language)
		ts := tools.Tools{Chooser: place{Backend: b}, TempDir: t.TempDir()}
		r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: l, Code: code, Stdin: bytes.NewReader(nil)})
		require.NoError(t, err)
		require.Equal(t, sandbox.StatusExited, r.Result.Status)
		assert.Equal(t, string(r.Result.Stdout), run(t, b, p, cold()).stdout)
	}
}
