package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func TestDoctor(t *testing.T) {
	s := newTerminal()
	assert.Equal(t, 0, s.run("doctor"))
	assert.Contains(t, s.stdout.String(), "ok    net.none")

	s.lack(sandbox.Enforcement{Guarantee: sandbox.NetNone, Reason: "no reason", Fix: "mend it"})
	s.ready = &sandbox.Error{Kind: sandbox.KindRefused, Op: "ready", Guarantee: sandbox.NetNone, Cause: errPlain}
	assert.Equal(t, 1, s.run("doctor"))
	assert.Contains(t, s.stdout.String(), "fail  net.none")
	assert.Contains(t, s.stdout.String(), "fix: mend it")

	assert.Equal(t, 1, s.run("doctor", "--json"))
	var checks []map[string]any
	require.NoError(t, json.Unmarshal(s.stdout.Bytes(), &checks))
	for _, key := range []string{"name", "status", "guarantee", "mechanism", "detail", "remedy", "elapsed_ms"} {
		assert.Contains(t, checks[0], key)
	}

	s.openErr = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "open", Cause: errPlain, Fix: "install it"}
	assert.Equal(t, 1, s.run("doctor"))
	assert.Contains(t, s.stdout.String(), "fix: install it")
}

func TestDoctorStrict(t *testing.T) {
	s := newTerminal()
	s.lack(sandbox.Enforcement{Guarantee: sandbox.IPCNoHostSockets})
	assert.Equal(t, 0, s.run("doctor"))
	assert.Equal(t, 1, s.run("doctor", "--strict"))
	assert.Equal(t, 0, s.run("check", "host"))
	assert.Equal(t, 1, s.run("check", "--strict", "host"))
	assert.Equal(t, 1, s.run("check", "--require", "ipc.no-host-sockets", "host"))
}

// --problems leaves out what is well, and decides nothing.
func TestDoctorProblems(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("doctor", "--problems"))
	assert.Empty(t, s.stdout.String())
	s.lack(sandbox.Enforcement{Guarantee: sandbox.IPCNoHostSockets})
	for _, args := range [][]string{{"doctor", "--problems"}, {"check", "--problems"}, {"check", "--problems", "host"}} {
		require.Equal(t, 0, s.run(args...), "%q", args)
		assert.True(t, strings.HasPrefix(s.stdout.String(), "warn  ipc.no-host-sockets"), s.stdout.String())
		assert.Equal(t, 1, s.run(slices.Insert(args, 1, "--strict")...), "%q", args)
	}
	require.Equal(t, 0, s.run("doctor", "--problems", "--json"))
	var checks []map[string]any
	require.NoError(t, json.Unmarshal(s.stdout.Bytes(), &checks))
	assert.Len(t, checks, 1)
}

func TestCheck(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("check", "-m", "64m", "host", "prog"))
	s.ranNothing(t)
	assert.Equal(t, 64, s.backend.asked.Limits.MemoryMB)
	assert.Contains(t, s.stdout.String(), "applied all the same: --network none")
	assert.Equal(t, 125, s.run("check", "--privileged"))
}

// The probes of a gateway that only knows docker.
func TestProbes(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("version", "--format", "{{.Server.Version}}"))
	assert.Equal(t, version()+"\n", s.stdout.String())
	require.Equal(t, 0, s.run("info", "--format", "{{json .Runtimes}}"))
	assert.Contains(t, s.stdout.String(), `"toolcell":{"path":`)
	assert.NotContains(t, s.stdout.String(), "runsc")
	require.Equal(t, 0, s.run("info", "--format", "json"))
	assert.True(t, json.Valid(s.stdout.Bytes()))
	same := s.stdout.String()
	require.Equal(t, 0, s.run("info", "--json"))
	assert.Equal(t, same, s.stdout.String())
	require.Equal(t, 0, s.run("version"))
	assert.Equal(t, 1, s.backend.closed)

	for _, args := range [][]string{{"version", "--format", "{{.Nothing}}"}, {"version", "--format", "{{"}} {
		assert.Equal(t, 125, s.run(args...))
		s.oneLine(t)
		assert.Empty(t, s.stdout.String())
	}

	s.ready = &sandbox.Error{Kind: sandbox.KindRefused, Op: "ready", Guarantee: sandbox.LimitMemory, Cause: errPlain}
	for _, args := range [][]string{{"version"}, {"version", "--format", "{{.Server.Version}}"}, {"info"}} {
		assert.Equal(t, 125, s.run(args...), "%q", args)
		assert.Contains(t, s.oneLine(t), "limit.memory")
		assert.Empty(t, s.stdout.String())
	}
}

func TestProfileViews(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("profile", "-m", "64m", "-e", "SECRET=x"))
	assert.Regexp(t, `(?m)^memory +64 MiB, no swap$`, s.stdout.String())
	assert.NotContains(t, s.stdout.String(), "SECRET=x")

	require.Equal(t, 0, s.run("profile", "--json", "--timeout", "2s"))
	var p map[string]any
	require.NoError(t, json.Unmarshal(s.stdout.Bytes(), &p))
	assert.InDelta(t, 2000, p["timeout_ms"], 0)
	assert.InDelta(t, 512, p["memory_mb"], 0)
	assert.Equal(t, []any{}, p["mounts"])

	require.Equal(t, 0, s.run("profile", "--plan", "host", "prog"))
	assert.Equal(t, "0 exec prog in host\n", s.stdout.String())

	require.Equal(t, 0, s.run("profile", "--seccomp"))
	assert.True(t, json.Valid(s.stdout.Bytes()))

	require.Equal(t, 0, s.run("profile", "--docker", "-e", "SECRET=x", "host", "sh", "-c", "echo 'a b'"))
	line := s.stdout.String()
	assert.True(t, strings.HasPrefix(line, "docker run --rm -i --network none --read-only --user "), line)
	assert.NotContains(t, line, "SECRET=x")
	assert.Contains(t, line, "--memory 512m --cpus 1 --ulimit nofile=256:256")
	assert.True(t, strings.HasSuffix(line, ` -e SECRET python:3.12-slim sh -c 'echo '\''a b'\'''`+"\n"), line)
}

func TestAutoUserIsNeverRoot(t *testing.T) {
	assert.Equal(t, "1000:1001", autoUser(1000, 1001))
	for _, ids := range [][2]int{{0, 0}, {0, 5}, {5, 0}, {-1, -1}} {
		assert.Equal(t, "65532:65532", autoUser(ids[0], ids[1]))
	}
}

func TestShellQuote(t *testing.T) {
	for _, s := range []string{"plain", "", "a b", "it's", "$HOME", "a\nb", "`x`", `back\slash`, "*"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+shellQuote(s)).Output()
		require.NoError(t, err)
		assert.Equal(t, s, string(out))
	}
}

func TestGuarantees(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("guarantees"))
	assert.Equal(t, len(sandbox.Guarantees()), strings.Count(s.stdout.String(), "\n"))
	require.Equal(t, 0, s.run("guarantees", "--json"))
	assert.True(t, json.Valid(s.stdout.Bytes()))
}

// Every command's help shows an example and the exit codes.
func TestHelp(t *testing.T) {
	s := newTerminal()
	for _, name := range []string{"run", "code", "check", "doctor", "profile", "config", "guarantees", "images", "version", "info", "completion"} {
		require.Equal(t, 0, s.run(name, "--help"), name)
		out := s.stdout.String()
		assert.Regexp(t, `Examples:\n  .*toolcell `+name, out, name)
		assert.Contains(t, out, "EXIT STATUS:\n", name)
	}
	require.Equal(t, 0, s.run())
	assert.Contains(t, s.stdout.String(), "toolcell run host")
}

// A command line that cobra reads and refuses leads to the help, in one line.
func TestMisuse(t *testing.T) {
	for line, want := range map[string]string{
		"runn host true":      "toolcell: \"runn\" is no command (see `toolcell --help`)",
		"doctor host":         "toolcell: doctor: \"host\" is too much: it takes flags alone (see `toolcell doctor --help`)",
		"completion tcsh":     "toolcell: completion: \"tcsh\" is no shell that it knows (see `toolcell completion --help`)",
		"version --privilege": "toolcell: version: unknown flag: --privilege (see `toolcell version --help`)",
	} {
		s := newTerminal()
		assert.Equal(t, 125, s.run(strings.Fields(line)...), line)
		assert.Equal(t, want, s.oneLine(t))
	}
}

// An error is JSON where JSON was asked for, that of a command line that was not taken too.
func TestMisuseJSON(t *testing.T) {
	for line, want := range map[string]string{
		"doctor --json --foo":          "doctor: unknown flag: --foo (see `toolcell doctor --help`)",
		"code --json":                  "code: no language is named (see `toolcell code --help`)",
		"code --json a.py":             "code: \"a.py\" is no language, which comes first; a file is named by --file (see `toolcell code --help`)",
		"code --json --raw sh true":    "code: --json and --raw exclude each other (see `toolcell code --help`)",
		"version --json --format json": "version: --json and --format exclude each other (see `toolcell version --help`)",
		"profile --json --plan":        "profile: --json is a form of its own: it and --plan, --docker and --seccomp exclude each other",
	} {
		s := newTerminal()
		assert.Equal(t, 125, s.run(strings.Fields(line)...), line)
		var told struct{ Error struct{ Message string } }
		require.NoError(t, json.Unmarshal(s.stdout.Bytes(), &told), line)
		assert.Equal(t, want, told.Error.Message)
		assert.Empty(t, s.stderr.String())
	}
	assert.False(t, asksJSON([]string{"check", "host", "--", "--json"}))
}

// A duration without a unit is in seconds, for code as for run.
func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{"5": 5 * time.Second, "0": 0, "-1": -time.Second, "1.5s": 1500 * time.Millisecond, "2m": 2 * time.Minute} {
		var s seconds
		require.NoError(t, s.Set(text), text)
		assert.Equal(t, want, time.Duration(s), text)
	}
	for _, text := range []string{"", "x", "1.5", "99999999999999999999", "5 s"} {
		var s seconds
		assert.Error(t, s.Set(text), text)
	}
}

// Completion knows the flags that cobra does not parse.
func TestCompletion(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("__complete", "run", "--mem"))
	assert.Contains(t, s.stdout.String(), "--memory\t")
	assert.Contains(t, s.stdout.String(), "--memory-swap\t")
	assert.NotContains(t, s.stdout.String(), "--network")
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é": "plain\n\ttext é",
		"\x1b[31mred":     `\x1b[31mred`,
		"a\rb\x07\x00":    `a\x0db\x07\x00`,
		"\x7f":            `\x7f`,
		"\u009b31m":       `\u009b31m`,
		"\x9b31m":         `\x9b31m`,
		"a\u202eb\u2066c": `a\u202eb\u2066c`,
		"\xff":            `\xff`,
		"\ufffd":          "\ufffd",
	} {
		assert.Equal(t, want, escapeText(in), "%q", in)
	}
	data, err := json.Marshal(map[string]string{"a": "\u009b\u202e\x7f"})
	require.NoError(t, err)
	escaped := escapeJSON(string(data))
	assert.Equal(t, `{"a":"\u009b\u202e\u007f"}`, escaped)
	var back map[string]string
	require.NoError(t, json.Unmarshal([]byte(escaped), &back))
	assert.Equal(t, "\u009b\u202e\x7f", back["a"])
}

// However the writes cut a text, the terminal gets the same.
func TestEscaperAcrossWrites(t *testing.T) {
	text := "é€😀\x1b[2J\u202e\xf0\x9f\xffz\xe2\x82"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		e := &escaper{w: &out}
		for i := 0; i < len(text); i += size {
			n, err := e.Write([]byte(text[i:min(i+size, len(text))]))
			require.NoError(t, err)
			require.Equal(t, min(size, len(text)-i), n)
		}
		require.NoError(t, e.flush())
		assert.Equal(t, escapeText(text), out.String(), "writes of %d bytes", size)
	}
}

func TestImagesPull(t *testing.T) {
	s := newTerminal()
	require.Equal(t, 0, s.run("images", "pull", "one", "two"))
	assert.Equal(t, "one is ready for the native backend\ntwo is ready for the native backend\n", s.stdout.String())
	assert.Equal(t, 1, s.backend.closed)
	require.Equal(t, 0, s.run("images", "pull", "--json", "one", "two"))
	assert.JSONEq(t, `{"backend":"native","images":["one","two"]}`, s.stdout.String())

	s = newTerminal()
	s.prepare = errPlain
	assert.Equal(t, 125, s.run("images", "pull", "--json", "one"))
	assert.Contains(t, s.stdout.String(), `{"error":{`)
	assert.Equal(t, 125, s.run("images", "pull", "one", "two"))
	assert.Equal(t, 2, strings.Count(s.oneLine(t), errPlain.Error()), "each failure is told")
	assert.Equal(t, 125, s.run("images", "pull"))
	assert.Contains(t, s.oneLine(t), "no image is named")
}
