package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

var update = flag.Bool("update", false, "write the golden files")

// Every file in testdata/invalid is refused with the lines of the golden file beside it.
func TestInvalidFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(f)
			require.NoError(t, err)
			c, err := config.Parse(filepath.Base(f), data, config.Options{GOOS: "linux"})
			require.Error(t, err)
			assert.Nil(t, c, "there is no configuration to go on with")
			checkProblems(t, err)
			golden(t, strings.TrimSuffix(f, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

// golden compares got with a file, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run with -update to make it")
	assert.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

// checkProblems checks what holds for every error of this package: it is made of problems, each one line, typed, and in
// the order of the file.
func checkProblems(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	problems := config.Problems(err)
	require.NotEmpty(t, problems)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, len(problems), "one line a problem")
	line := 0
	for i, p := range problems {
		assert.Equal(t, lines[i], p.Error())
		var typed *sandbox.Error
		require.ErrorAs(t, error(p), &typed)
		assert.Equal(t, sandbox.KindInvalid, typed.Kind)
		assert.NotEmpty(t, p.Cause)
		assert.NotEmpty(t, p.File)
		assert.True(t, p.Line == 0 || p.Column > 0, p.Error())
		if p.Line > 0 && len(problems) <= 50 {
			assert.GreaterOrEqual(t, p.Line, line, "in the order of the file")
			line = p.Line
		}
	}
}

func TestProblemsOfOtherErrors(t *testing.T) {
	assert.Empty(t, config.Problems(nil))
	assert.Empty(t, config.Problems(errors.New("x")))
	assert.Empty(t, config.Problems(errors.Join(errors.New("x"), errors.New("y"))))
}

func TestProblemsAreBounded(t *testing.T) {
	text := "executor:\n"
	for i := range 5000 {
		text += "  k" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + ": 1\n"
	}
	_, err := config.Parse("f", []byte(text), config.Options{})
	checkProblems(t, err)
	problems := config.Problems(err)
	assert.Len(t, problems, 51)
	assert.Equal(t, "f: 4950 more problems", problems[50].Error())

	// As many as a file can hold, and long lists, cost what reading them costs.
	_, err = config.Parse("f", []byte("executor:\n"+strings.Repeat("  a: 1\n", 1<<16)), config.Options{})
	assert.Equal(t, "f: 65486 more problems", config.Problems(err)[50].Error())
	var b strings.Builder
	for i := range 1 << 16 {
		b.WriteString("a" + strconv.Itoa(i) + ",")
	}
	c, err := config.Parse("f", []byte("runtime: {allow_system_agents: ["+b.String()+"]}"), config.Options{})
	require.NoError(t, err)
	assert.Len(t, c.Runtime.AllowSystemAgents, 1<<16)
}

// A value of the file cannot break the line, steer a terminal or fill the screen.
func TestProblemsAreHarmless(t *testing.T) {
	_, err := config.Parse("f", []byte("executor:\n  \"a\\nb\\e[31m\\u202e\": 1\n  docker_image: \""+strings.Repeat("é", 10000)+" x\"\n"), config.Options{})
	checkProblems(t, err)
	assert.NotContains(t, err.Error(), "\x1b")
	assert.NotContains(t, err.Error(), "\u202e")
	assert.Less(t, len(err.Error()), 1000)
}
