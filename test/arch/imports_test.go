package arch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Imports run cmd -> backends -> sandbox, and never back.
func TestImportsRunOneWay(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			from := p.short()
			assert.False(t, layer(to) > layer(from), "%s imports %s", from, to)
			assert.False(t, backendOf(from) != "" && backendOf(to) != "" && backendOf(from) != backendOf(to),
				"%s imports %s: backends never import each other", from, to)
		}
	}
}

// layer numbers the layers from below; what is in none of them (seccomp) lies below all.
func layer(short string) int {
	order := []string{"sandbox", "backends", "cmd", "test"}
	first, _, _ := strings.Cut(short, "/")
	return 1 + slices.Index(order, first)
}

// backendOf is the backend that a package belongs to, or "". What backends share (backends/internal) belongs to none.
func backendOf(short string) string {
	rest, ok := strings.CutPrefix(short, "backends/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	if name == "internal" {
		return ""
	}
	return name
}

// The contract can be imported by anything, anywhere.
func TestContractImportsStandardLibraryOnly(t *testing.T) {
	for _, p := range list(t, "-deps", "./sandbox") {
		if p.ImportPath != module+"/sandbox" {
			assert.True(t, p.Standard, "package sandbox depends on %s", p.ImportPath)
		}
	}
}

// The spawner runs as root's deputy and in every sandbox's beginning: the less it is, the better.
func TestSpawnerIsSmall(t *testing.T) {
	pkgs := list(t, "-deps", "./backends/native/spawner")
	require.Greater(t, len(pkgs), 10)
	for _, p := range pkgs {
		assert.Empty(t, p.CgoFiles, "%s uses cgo", p.ImportPath)
		for _, banned := range []string{"net/http", "gopkg.in/yaml", "go.yaml.in/yaml", "github.com/spf13/cobra", "github.com/spf13/pflag", "runtime/cgo"} {
			assert.False(t, strings.HasPrefix(p.ImportPath, banned), "the spawner depends on %s", p.ImportPath)
		}
	}
}

// A gateway starts the command for every call, so each call pays for all that it links.
func TestCommandHasNoHTTP(t *testing.T) {
	pkgs := list(t, "-deps", "./cmd/toolcell")
	require.Greater(t, len(pkgs), 50)
	for _, p := range pkgs {
		assert.NotContains(t, []string{"net/http", "crypto/tls"}, p.ImportPath)
	}
}

// What is shipped is one static file.
func TestShippedProgramsHaveNoCgo(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/...") {
		assert.Empty(t, p.CgoFiles, "%s uses cgo", p.ImportPath)
	}
}
