package interpreters_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// outcome is all that can be told of a run from outside, but for the time it took.
type outcome struct {
	ended          string
	stdout, stderr string
	hints          []string
	files          []file
}

// file is a name that a program left in its directory.
type file struct {
	name    string
	mode    fs.FileMode
	content string
}

// observe reads the outcome of a run.
func observe(t *testing.T, r sandbox.Result, output string) outcome {
	t.Helper()
	o := outcome{ended: string(r.Status), stdout: mask(r.Stdout), stderr: mask(r.Stderr), hints: r.Hints}
	switch r.Status {
	case sandbox.StatusExited:
		o.ended = fmt.Sprintf("exit %d", r.ExitCode)
	case sandbox.StatusSignaled:
		o.ended = r.Signal
	}
	require.NoError(t, filepath.WalkDir(output, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == output {
			return err
		}
		f, err := left(output, name, e)
		o.files = append(o.files, f)
		return err
	}))
	return o
}

// left reads one name that a program left.
func left(output, name string, e fs.DirEntry) (file, error) {
	info, err := e.Info()
	if err != nil {
		return file{}, err
	}
	rel, err := filepath.Rel(output, name)
	if err != nil {
		return file{}, err
	}
	f := file{name: rel, mode: info.Mode()}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(name)
		if err != nil {
			return file{}, err
		}
		f.content = mask(data)
	}
	return f, nil
}

// mask replaces addresses, which are others in each process.
func mask(data []byte) string {
	return regexp.MustCompile(`\b0x[0-9a-fA-F]{8,16}\b`).ReplaceAllString(string(data), "0x…")
}

// String writes everything out, a line for each line, so that two outcomes are the same exactly when their strings are.
func (o outcome) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "ended: %s\n", o.ended)
	quoted(&s, "stdout", o.stdout)
	quoted(&s, "stderr", o.stderr)
	for _, h := range o.hints {
		fmt.Fprintf(&s, "hint: %q\n", h)
	}
	for _, f := range o.files {
		fmt.Fprintf(&s, "file: %q %s\n", f.name, f.mode)
		quoted(&s, "content", f.content)
	}
	return s.String()
}

// quoted writes each line as a literal, long ones in pieces. A text that does not end in a newline shows it.
func quoted(s *strings.Builder, what, text string) {
	for line := range strings.Lines(text) {
		for len(line) > 0 {
			n := min(len(line), 1000)
			fmt.Fprintf(s, "%s: %q\n", what, line[:n])
			line = line[n:]
		}
	}
}

// The comparison sees each thing that can differ.
func TestOutcomesDiffer(t *testing.T) {
	base := outcome{ended: "exit 0", stdout: "a\nb\n", stderr: "c\n", files: []file{{name: "f", mode: 0o644, content: "d\n"}}}
	seen := map[string]string{base.String(): "the same"}
	for name, change := range map[string]func(*outcome){
		"code":         func(o *outcome) { o.ended = "exit 1" },
		"signal":       func(o *outcome) { o.ended = "SIGTERM" },
		"stdout":       func(o *outcome) { o.stdout = "a\nB\n" },
		"last newline": func(o *outcome) { o.stdout = "a\nb" },
		"which stream": func(o *outcome) { o.stdout, o.stderr = "a\nb\nc\n", "" },
		"carriage":     func(o *outcome) { o.stdout = "a\r\nb\n" },
		"stderr":       func(o *outcome) { o.stderr = "" },
		"hint":         func(o *outcome) { o.hints = []string{"h"} },
		"no file":      func(o *outcome) { o.files = nil },
		"file's name":  func(o *outcome) { o.files = []file{{name: "g", mode: 0o644, content: "d\n"}} },
		"file's mode":  func(o *outcome) { o.files = []file{{name: "f", mode: 0o600, content: "d\n"}} },
		"content":      func(o *outcome) { o.files = []file{{name: "f", mode: 0o644, content: "d"}} },
	} {
		o := base
		change(&o)
		assert.NotContains(t, seen, o.String(), name)
		seen[o.String()] = name
	}
}

// Of what a program writes, only addresses are masked.
func TestMask(t *testing.T) {
	assert.Equal(t, "<f at 0x…> 0x… 0x1f 12345678", mask([]byte("<f at 0x7f12a0b4c1d0> 0x55d0c1e2 0x1f 12345678")))
}

// differing are programs that no two runs of have the same outcome of, one for each thing that is compared.
func differing() []program {
	py := func(name, code string) program {
		return program{language: python(), name: name, main: "main.py", files: map[string][]byte{"main.py": []byte(code)}}
	}
	js := func(name, code string) program {
		return program{language: node(), name: name, main: "main.js", files: map[string][]byte{"main.js": []byte(code)}}
	}
	return []program{
		py("stdout", "import os; print(os.urandom(16).hex())"),
		py("stderr", "import os, sys; print(os.urandom(16).hex(), file=sys.stderr)"),
		py("time", "import time; print(time.perf_counter_ns())"),
		py("seed", "print(hash('a'), hash('b'))"),
		py("file", "import os; open(os.urandom(16).hex(), 'w').close()"),
		py("content", "import os; open('f', 'wb').write(os.urandom(16))"),
		js("stdout", "console.log(require('crypto').randomUUID())"),
		js("stderr", "console.error(process.hrtime.bigint())"),
		js("file", "require('fs').writeFileSync(require('crypto').randomUUID(), '')"),
	}
}

// The comparison fails when it should.
func TestComparisonCanFail(t *testing.T) {
	b := open(t)
	for _, l := range []language{python(), node()} {
		requireInterpreter(t, b, l)
	}
	for _, p := range differing() {
		one, two := run(t, b, p, cold()), run(t, b, p, cold())
		assert.Equal(t, "exit 0", one.ended, "%s %s: %s", p.language.name, p.name, one)
		assert.NotEqual(t, one.String(), two.String(), "%s %s", p.language.name, p.name)
	}
}
