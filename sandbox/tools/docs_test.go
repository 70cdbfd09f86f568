package tools_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// page is a document of this repository.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// table returns the rows of the first table whose head begins with the given cells, without their backticks.
func table(t *testing.T, text string, head ...string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "\n| "+strings.Join(head, " | ")+" |")
	require.True(t, ok, "there is a table with %v", head)
	var rows [][]string
	for i, line := range strings.Split(rest, "\n") {
		if i < 2 { // the rest of the head, and the rule
			continue
		}
		if !strings.HasPrefix(line, "| ") {
			break
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		rows = append(rows, cells)
	}
	require.NotEmpty(t, rows)
	return rows
}

func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// The README names every tool, with its arguments, and no other.
func TestReadmeListsTools(t *testing.T) {
	documented := map[string][]string{}
	for _, row := range table(t, page(t, filepath.Join("..", "..", "README.md")), "tool", "does", "arguments") {
		var arguments []string
		for a := range strings.SplitSeq(plain(row[2]), ", ") {
			arguments = append(arguments, a)
		}
		documented[plain(row[0])] = arguments
	}
	registered := map[string][]string{}
	for _, d := range tools.Definitions() {
		s := parseSchema(t, d.Schema)
		var arguments []string
		for name := range s.Properties {
			if name == "isolation" {
				continue // every tool has it
			}
			if !slices.Contains(s.Required, name) {
				name = "[" + name + "]"
			}
			arguments = append(arguments, name)
		}
		registered[string(d.Name)] = arguments
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(registered)), slices.Collect(maps.Keys(documented)))
	for name, arguments := range registered {
		assert.ElementsMatch(t, arguments, documented[name], name)
	}
}

// The page's arguments are the schema's, and its languages the tool's.
func TestRunCodePageArguments(t *testing.T) {
	text := page(t, "RUN_CODE.md")
	var schema struct {
		Properties map[string]struct{ Type string }
		Required   []string
	}
	for _, d := range tools.Definitions() {
		if d.Name == tools.NameRunCode {
			require.NoError(t, json.Unmarshal(d.Schema, &schema))
		}
	}
	rows := table(t, text, "argument", "type", "required", "is")
	assert.Len(t, rows, len(schema.Properties))
	for _, row := range rows {
		name := plain(row[0])
		require.Contains(t, schema.Properties, name)
		assert.Equal(t, schema.Properties[name].Type, row[1], name)
		assert.Equal(t, slices.Contains(schema.Required, name), row[2] == "yes", name)
	}

	var languages []string
	for _, row := range table(t, text, "language", "aliases", "runs") {
		languages = append(languages, plain(row[0]))
		for alias := range strings.SplitSeq(plain(row[1]), ", ") {
			b := fake.New(fake.Exit(0, "", ""))
			r, err := set(t, b).RunCode(t.Context(), tools.CodeArgs{Language: alias, Code: "x"})
			require.NoError(t, err)
			assert.Equal(t, plain(row[0]), r.Language)
			assert.Equal(t, plain(row[2]), strings.Join(b.Calls()[0].Command.Argv, " "))
		}
	}
	assert.Equal(t, tools.Languages(), languages)
}

// The page's texts are the tool's, to the byte.
func TestRunCodePageTexts(t *testing.T) {
	text := page(t, "RUN_CODE.md")
	run := func(reply fake.Reply) string {
		r, err := set(t, fake.New(reply)).RunCode(t.Context(), tools.CodeArgs{Language: "python", Code: "x"})
		require.NoError(t, err)
		return r.Text()
	}
	for _, reply := range []fake.Reply{fake.Exit(0, "4\n", ""), fake.Exit(1, "", "SyntaxError: bad")} {
		assert.Contains(t, text, "\n```\n"+run(reply)+"```\n")
	}
	assert.Contains(t, text, "`(no output)`")
	assert.Contains(t, run(fake.Exit(0, "", "")), "\n(no output)\n")

	endings := map[string]bool{firstLine(full(t)): true}
	for _, status := range []sandbox.Status{sandbox.StatusTimeout, sandbox.StatusCPUTimeout, sandbox.StatusOOM, sandbox.StatusFileSize, sandbox.StatusCanceled} {
		endings[firstLine(run(ended(status, "")))] = true
	}
	endings[firstLine(run(fake.Reply{Result: sandbox.Result{Status: sandbox.StatusSignaled, SignalNumber: 11}}))] = true
	documented := map[string]bool{}
	for _, row := range table(t, text, "first line", "when") {
		documented[plain(row[0])] = true
	}
	assert.Equal(t, endings, documented)

	cut := fake.Exit(0, "x", "")
	cut.Result.StdoutBytes = 9
	assert.Contains(t, run(cut), "[output truncated]\n")
	assert.Contains(t, text, "`[output truncated]`")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// full is the text of a run whose output directory grew too large.
func full(t *testing.T) string {
	t.Helper()
	b := fake.New()
	ts := set(t, slow{b})
	b.Handler = func(c fake.Call) fake.Reply {
		f, err := os.Create(filepath.Join(source(t, c, "/output"), "large"))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(257<<20)) // a hole takes no space
		require.NoError(t, f.Close())
		return ended(sandbox.StatusCanceled, "")
	}
	r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "python", Code: "x"})
	require.NoError(t, err)
	return r.Text()
}

// slow ends its calls when their context does.
type slow struct{ sandbox.Backend }

func (s slow) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	r, err := s.Backend.Run(ctx, p, c)
	<-ctx.Done()
	return r, err
}

// The page's numbers are the tool's.
func TestRunCodePageNumbers(t *testing.T) {
	text := page(t, "RUN_CODE.md")
	arguments := map[string]string{}
	for _, row := range table(t, text, "argument", "type", "required", "is") {
		arguments[plain(row[0])] = row[3]
	}
	assert.Contains(t, arguments["timeout_seconds"], tools.DefaultCodeTimeout.Truncate(time.Second).String()[:2]+" s if left out")
	assert.Contains(t, arguments["timeout_seconds"], "more than 300 s is 300 s")
	assert.Equal(t, 300*time.Second, tools.MaxCodeTimeout)
	assert.Contains(t, arguments["code"], "8 MiB")
	assert.Equal(t, 8<<20, tools.MaxCode)
	assert.Contains(t, text, "with 256 processes at most")
	assert.Equal(t, 256, tools.MaxCodePIDs)

	bounds := map[string]string{}
	for _, row := range table(t, text, "bound", "is") {
		bounds[row[0]] = row[1]
	}
	assert.Equal(t, map[string]string{
		"files": "32", "one file": "8 MiB", "all files together": "16 MiB",
		"everything in the directory, whether it comes back or not": "256 MiB, or the run is ended",
	}, bounds)
	checkBounds(t)

	for _, row := range table(t, text, "text", "when") {
		var args tools.CodeArgs
		if strings.Contains(row[0], "unsupported") {
			args = tools.CodeArgs{Language: "rust", Code: "x"}
		}
		_, err := tools.Tools{}.RunCode(t.Context(), args)
		require.Error(t, err)
		assert.Equal(t, plain(row[0]), "Error: "+err.Error())
	}
}

// checkBounds finds the artifacts' bounds by filling them.
func checkBounds(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		files, size, want int
	}{
		{33, 1, 32}, {1, 8 << 20, 1}, {1, 8<<20 + 1, 0}, {3, 8 << 20, 2},
	} {
		b := fake.New()
		b.Handler = func(call fake.Call) fake.Reply {
			for i := range c.files {
				name := filepath.Join(source(t, call, "/output"), string(rune('A'+i)))
				require.NoError(t, os.WriteFile(name, make([]byte, c.size), 0o600))
			}
			return fake.Exit(0, "", "")
		}
		r, err := set(t, b).RunCode(t.Context(), tools.CodeArgs{Language: "python", Code: "x"})
		require.NoError(t, err)
		assert.Len(t, r.Artifacts, c.want, "%d files of %d bytes", c.files, c.size)
		assert.Equal(t, cmp.Compare(c.files, c.want), len(r.Omitted), "what is left out is named")
	}
}
