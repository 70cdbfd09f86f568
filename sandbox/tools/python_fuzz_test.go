package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// inParts writes its calls' output in parts, as a pipe does.
type inParts struct {
	sandbox.Backend
	size int
}

func (b inParts) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	c.Stdout = parts{c.Stdout, b.size}
	return b.Backend.Run(ctx, p, c)
}

type parts struct {
	w    io.Writer
	size int
}

func (p parts) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := min(p.size, len(b))
		if _, err := p.w.Write(b[:part]); err != nil {
			return 0, err
		}
		b = b[part:]
	}
	return n, nil
}

// However the output comes, the callbacks and the result agree about what progress is, and nothing else is lost.
func FuzzProgress(f *testing.F) {
	f.Add("a\n{\"type\":\"progress\",\"percent\":1}\nb", 3)
	f.Add("{\"type\":\"progress\"}\r\n\r\n", 1)
	f.Add("{\"type\":\"progress\",\"status\":\""+strings.Repeat("x", 64<<10)+"\"}\n", 4096)
	f.Add(strings.Repeat(" ", 70<<10)+"{\"type\":\"progress\"}\n", 100)
	f.Add("{\"t\\u0079pe\":\"\\u0070rogress\"}\nx\n{\"type\":\"progress\"}\ny\n", 7)
	f.Add("\xff\xfe\n{\"type\":\"progress\",\"percent\":1e999}\n\x00", 2)
	f.Fuzz(func(t *testing.T, stream string, size int) {
		ts := set(t, inParts{fake.New(fake.Exit(0, stream, "")), min(max(size, 1), 1<<20)})
		var got []tools.Progress
		call := tools.PythonCall{Name: "f", Progress: func(p tools.Progress) { got = append(got, p) }}
		r, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: call, Code: "pass"})
		require.NoError(t, err)
		var want []tools.Progress
		var rest []byte
		if len(stream) > sandbox.DefaultOutputKB<<10 {
			return
		}
		for line := range strings.Lines(stream) {
			if p, ok := progressLine(strings.TrimSuffix(line, "\n")); ok {
				want = append(want, p)
				continue
			}
			rest = append(rest, line...)
		}
		assert.Equal(t, want, got)
		assert.True(t, bytes.Equal(rest, r.Result.Stdout), "%q and not %q", r.Result.Stdout, rest)
	})
}

// progressLine is what the documentation says of a progress line.
func progressLine(line string) (tools.Progress, bool) {
	var p struct {
		Type    string
		Percent float64
		Status  string
	}
	if len(line) > 64<<10 || json.Unmarshal([]byte(line), &p) != nil || p.Type != "progress" {
		return tools.Progress{}, false
	}
	return tools.Progress{Percent: p.Percent, Status: p.Status}, true
}

// Whatever a handler says, what is called lies in the plugin's directory.
func FuzzHandler(f *testing.F) {
	for _, seed := range []string{
		"python:tool.py::run", "python:a/../tool.py::run", "python:../../etc/passwd::f", "python:out/x.py::f", "python:/etc/passwd::f", "python:::", "node:x.js",
		"python:in.py::f::g", "python:./tool.py::é", "python:tool.py\x00::f", "python:DIR/tool.py::f", "python:DIR/../x::f",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, handler string) {
		dir, outside := toolDir(t, "tool.py", "def run(): ..."), toolDir(t, "x.py", "def f(): ...")
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
		require.NoError(t, os.Symlink("tool.py", filepath.Join(dir, "in.py")))
		b := fake.New(fake.Exit(0, "", ""))
		_, err := plugin(t, dir, strings.ReplaceAll(handler, "DIR", dir))(set(t, b))
		if err != nil {
			assert.True(t, tools.Final(err), "%v", err)
			assert.NotContains(t, err.Error(), "\n")
			assert.Empty(t, b.Calls())
			return
		}
		file, ok := strings.CutPrefix(b.Calls()[0].Command.Argv[4], "/tool/")
		require.True(t, ok)
		real, err := filepath.EvalSymlinks(filepath.Join(dir, file))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(real, dir+string(filepath.Separator)), real)
	})
}
