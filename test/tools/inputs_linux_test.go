package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository is where the module is, from here.
const repository = "../.."

// inputs are the numbers of the cases.
func inputs() []string {
	out := []string{"T56a", "T56b", "native"}
	for i := 1; i <= 61; i++ {
		if !slices.Contains([]int{23, 24, 44, 49}, i) {
			out = append(out, fmt.Sprint("T", i))
		}
	}
	return out
}

// Every input has a row, and every test of a row is there.
func TestInputs(t *testing.T) {
	text, err := os.ReadFile("INPUTS.md")
	require.NoError(t, err)
	var have []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| T") && !strings.HasPrefix(line, "| native") {
			continue
		}
		require.Len(t, cells, 4, line)
		have = append(have, strings.TrimSpace(cells[0]))
		for reference := range strings.SplitSeq(cells[3], "; ") {
			checkReference(t, strings.TrimSpace(reference))
		}
	}
	assert.ElementsMatch(t, inputs(), have)
}

var reference = regexp.MustCompile("^`([a-z/.]+)`(?: (Test.+))?$")

// checkReference looks for what a row names: a script, or tests of a package.
func checkReference(t *testing.T, text string) {
	t.Helper()
	m := reference.FindStringSubmatch(text)
	require.NotNil(t, m, "%q names no tests", text)
	path := filepath.Join(repository, m[1])
	if strings.HasSuffix(path, ".txtar") {
		assert.FileExists(t, path)
		return
	}
	require.NotEmpty(t, m[2], "%q names no test", text)
	for name := range strings.SplitSeq(m[2], ", ") {
		test, part, _ := strings.Cut(name, "/")
		assert.True(t, found(t, path, "func "+test+"(t *testing.T)", "*_test.go"), "%s has no %s", m[1], test)
		if part != "" {
			ok := found(t, path, `"`+part+`"`, "*.go") || found(t, filepath.Join(path, "attempt"), `"`+part+`"`, "*.go")
			assert.True(t, ok, "%s: %s has no case %q", m[1], test, part)
		}
	}
}

// found reports whether a file of a directory holds text.
func found(t *testing.T, dir, text, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	for _, f := range files {
		content, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}
