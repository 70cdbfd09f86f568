package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/kernels/report"
)

// The README's table is the one that the golden files make.
func TestReadmeTable(t *testing.T) {
	want, err := table("testdata")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "\n"+want, "the table that the golden files make:\n%s", want)
}

// Every cell has a golden file and a row, and nothing else has.
func TestGoldenFiles(t *testing.T) {
	unit, err := readmeUnit("../../README.md")
	require.NoError(t, err)
	var all []report.Cell
	for _, b := range withSuites(boots(unit)) {
		all = append(all, b.cells...)
	}
	for _, c := range containers() {
		all = append(all, c.Cell)
	}
	var cells, rows, files []string
	for _, c := range all {
		cells = append(cells, c.Name)
		o, err := load("testdata", c.Name)
		require.NoError(t, err)
		assert.Equal(t, !c.Refused, o.check("call").Status == "ok", c.Name)
	}
	for _, row := range titles() {
		rows = append(rows, row.cell)
	}
	paths, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, p := range paths {
		files = append(files, strings.TrimSuffix(filepath.Base(p), ".json"))
	}
	assert.ElementsMatch(t, cells, rows)
	assert.ElementsMatch(t, cells, files)
}

func events() []report.Event {
	return []report.Event{
		{Cell: "other", Error: "not this one's"},
		{Cell: "x", Kernel: "6.12.9+deb-cloud", Doctor: json.RawMessage(`[{"name":"call","status":"ok","detail":"toolcell-0123456789abcdef in run-u7.service","elapsed_ms":3}]`)},
		{Cell: "x", Kernel: "6.12.9+deb-cloud", Calls: []report.Call{{Name: "plain"}, {Name: "bomb"}}},
		{Cell: "x", Kernel: "6.12.9+deb-cloud", Suite: &report.SuiteResult{Name: "s", Passed: 2}},
	}
}

func TestJudge(t *testing.T) {
	cell := report.Cell{Name: "x", Suites: []report.Suite{{Name: "s"}}}
	o, err := judge(cell, events())
	require.NoError(t, err)
	assert.Equal(t, outcome{
		Cell: "x", Kernel: "6.12", Calls: []string{"plain", "bomb"}, Suites: []string{"s"},
		Doctor: []check{{Name: "call", Status: "ok", Detail: "toolcell-* in run-*.service"}},
	}, o)
	for name, spoil := range map[string]func(e []report.Event) []report.Event{
		"a step that is missing": func(e []report.Event) []report.Event { return e[:3] },
		"a step that failed":     func(e []report.Event) []report.Event { e[1].Error = "no"; return e },
		"a call that was wrong":  func(e []report.Event) []report.Event { e[2].Calls[1].Error = "no"; return e },
		"a test that failed":     func(e []report.Event) []report.Event { e[3].Suite.Failed = 1; return e },
		"a test that is skipped": func(e []report.Event) []report.Event { e[3].Suite.Skipped = 1; return e },
		"no test at all":         func(e []report.Event) []report.Event { e[3].Suite.Passed = 0; return e },
		"nonsense of doctor":     func(e []report.Event) []report.Event { e[1].Doctor = json.RawMessage(`{}`); return e },
	} {
		_, err := judge(cell, spoil(events()))
		assert.Error(t, err, name)
	}
}

func TestCompare(t *testing.T) {
	o := outcome{Cell: "x", Kernel: "6.12", Calls: []string{"plain"}}
	dir := t.TempDir()
	require.ErrorIs(t, compare(dir, o), os.ErrNotExist)
	text, err := encode(o)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(golden(dir, "x"), text, 0o600))
	require.NoError(t, compare(dir, o))
	o.Kernel = "6.13"
	assert.ErrorContains(t, compare(dir, o), `+ "kernel": "6.13"`)
}

// Whoever is to be mended has to be refused before, so that choosing one chooses both.
func TestChosen(t *testing.T) {
	all := boots("")
	assert.Equal(t, all, chosen(all, regexp.MustCompile("")))
	assert.Empty(t, chosen(all, regexp.MustCompile("^$")))
	got := chosen(all, regexp.MustCompile("^mended"))
	require.Len(t, got, 1)
	names := func(cells []report.Cell) (out []string) {
		for _, c := range cells {
			out = append(out, c.Name)
		}
		return out
	}
	assert.Equal(t, []string{"bare-6.12", "mended-6.12"}, names(got[0].cells))
	for _, b := range all {
		mended := slices.IndexFunc(b.cells, func(c report.Cell) bool { return c.Mended })
		refused := slices.IndexFunc(b.cells, func(c report.Cell) bool { return c.Refused })
		assert.Less(t, refused, max(mended, 0)+1)
		assert.Equal(t, mended >= 0, refused >= 0)
	}
}

func TestReadmeUnit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	_, err := readmeUnit(file)
	require.True(t, errors.Is(err, os.ErrNotExist))
	require.NoError(t, os.WriteFile(file, []byte("no unit\n"), 0o600))
	_, err = readmeUnit(file)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(file, []byte("text\n```ini\n[Service]\nDelegate=yes\n```\n"), 0o600))
	unit, err := readmeUnit(file)
	require.NoError(t, err)
	assert.Equal(t, "[Service]\nDelegate=yes\n", unit)
}
