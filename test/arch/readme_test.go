package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// The README's list of packages is the list of packages.
func TestReadmeListsPackages(t *testing.T) {
	_, section, ok := strings.Cut(readme(t), "\n## Packages\n")
	require.True(t, ok, "the README has a section about packages")
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		got = append(got, m[1])
	}
	var want []string
	for _, p := range list(t, "./...") {
		want = append(want, p.short())
	}
	assert.ElementsMatch(t, want, got)
}

// The README names every guarantee.
func TestReadmeListsGuarantees(t *testing.T) {
	_, section, ok := strings.Cut(readme(t), "\n## What is enforced\n")
	require.True(t, ok, "the README says what is enforced")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, g := range sandbox.Guarantees() {
		assert.Contains(t, section, "`"+string(g)+"`")
	}
}

// The gateway that the README shows is the example, which is run by its own tests and short enough to be read.
func TestReadmeGateway(t *testing.T) {
	_, section, ok := strings.Cut(readme(t), "\n## In a gateway\n")
	require.True(t, ok, "the README has a section about gateways")
	_, block, ok := strings.Cut(section, "\n```go\n")
	require.True(t, ok, "it has a Go example")
	block, _, _ = strings.Cut(block, "\n```\n")
	src, err := os.ReadFile(filepath.Join(root, "test/gateway/main.go"))
	require.NoError(t, err)
	assert.Contains(t, string(src), block)
	assert.Less(t, strings.Count(string(src), "\n"), 60)
}

// The README's library example is the one that is compiled and run.
func TestReadmeExample(t *testing.T) {
	_, block, ok := strings.Cut(readme(t), "\n```go\n")
	require.True(t, ok, "the README has a Go example")
	block, _, ok = strings.Cut(block, "\n```\n")
	require.True(t, ok)
	src, err := os.ReadFile(filepath.Join(root, "cmd/toolcell/example_test.go"))
	require.NoError(t, err)
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line != "" {
			assert.Contains(t, string(src), line, "a line of the README's example")
		}
	}
}
