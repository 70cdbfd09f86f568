package sandbox

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandValidate(t *testing.T) {
	for name, c := range map[string]Command{
		"smallest":           {Argv: []string{"true"}},
		"empty arguments":    {Argv: []string{"printf", "", ""}},
		"any byte but NUL":   {Argv: []string{"x", "\x01\n\xff"}, Env: []string{"A=\xff\n"}},
		"longest argument":   {Argv: []string{"x", strings.Repeat("a", MaxArg-1)}},
		"longest entry":      {Argv: []string{"x"}, Env: []string{"A=" + strings.Repeat("a", MaxArg-3)}},
		"values hold equals": {Argv: []string{"x"}, Env: []string{"A==", "B=c=d", "A="}},
		"directory":          {Argv: []string{"x"}, Dir: "/"},
		"process directory":  {Argv: []string{"x"}, Dir: "/process"},
		"timeout":            {Argv: []string{"x"}, Timeout: time.Nanosecond},
		"id":                 {Argv: []string{"x"}, ID: "a-B_c.9"},
		"longest id":         {Argv: []string{"x"}, ID: strings.Repeat("i", 64)},
	} {
		assert.NoError(t, c.Validate(), name)
	}
}

func TestCommandValidateRefuses(t *testing.T) {
	x := []string{"x"}
	for _, tc := range []struct {
		c   Command
		why string
	}{
		{Command{}, "no program"},
		{Command{Argv: []string{""}}, "no program"},
		{Command{Argv: []string{"", "a"}}, "no program"},
		{Command{Argv: []string{"x", "a\x00b"}}, "argument 1: NUL byte at offset 1"},
		{Command{Argv: []string{"x", "y", strings.Repeat("a", MaxArg)}}, "argument 2: 131072 bytes, and one string may have at most 131071; code and data belong on stdin or in a file"},
		{Command{Argv: x, Env: []string{"A"}}, "not NAME=VALUE"},
		{Command{Argv: x, Env: []string{"=A"}}, "not NAME=VALUE"},
		{Command{Argv: x, Env: []string{""}}, "not NAME=VALUE"},
		{Command{Argv: x, Env: []string{"A=\x00"}}, "NUL"},
		{Command{Argv: x, Env: []string{"A\x00=b"}}, "NUL"},
		{Command{Argv: x, Env: []string{"A=" + strings.Repeat("a", MaxArg)}}, "bytes"},
		{Command{Argv: x, Dir: "tmp"}, "absolute"},
		{Command{Argv: x, Dir: "/tmp/"}, "shortest"},
		{Command{Argv: x, Dir: "/tmp/../etc"}, "shortest"},
		{Command{Argv: x, Dir: "/proc"}, "/proc"},
		{Command{Argv: x, Dir: "/proc/self/fd/7"}, "/proc"},
		{Command{Argv: x, Dir: "/a\x00"}, "NUL"},
		{Command{Argv: x, Dir: "/" + strings.Repeat("n", 256)}, "255"},
		{Command{Argv: x, Timeout: -1}, "negative"},
		{Command{Argv: x, ID: strings.Repeat("i", 65)}, "more than 64"},
		{Command{Argv: x, ID: "a/b"}, "allowed"},
		{Command{Argv: x, ID: "a b"}, "allowed"},
		{Command{Argv: x, ID: "é"}, "allowed"},
		{Command{Argv: x, ID: "."}, "no name"},
		{Command{Argv: x, ID: ".."}, "no name"},
	} {
		err := tc.c.Validate()
		require.ErrorIs(t, err, ErrInvalid, tc.why)
		assert.ErrorContains(t, err, tc.why)
		assert.Less(t, len(err.Error()), 600, "a long value does not make a long error")
	}
}

// The kernel counts a pointer for each string, so many empty ones are large too.
func TestCommandValidateTotal(t *testing.T) {
	large := strings.Repeat("a", MaxArg-1-entrySize)
	most := MaxEnvironment / MaxArg
	fits := Command{Argv: []string{large}}
	for len(fits.Argv) < most {
		fits.Argv = append(fits.Argv, large)
	}
	assert.NoError(t, fits.Validate())
	fits.Env = []string{"A=1"}
	assert.ErrorIs(t, fits.Validate(), ErrInvalid)
	empty := Command{Argv: append([]string{"x"}, make([]string, MaxEnvironment/entrySize)...)}
	assert.ErrorIs(t, empty.Validate(), ErrInvalid)
}

func FuzzCommandValidate(f *testing.F) {
	f.Add("true", "a", "A=1", "/tmp", "id", int64(0))
	f.Add("", "\x00", "=", "/proc/self/fd/7", "..", int64(-1))
	f.Add("x", strings.Repeat("a", 200), "A", "tmp//x", "a/b", int64(1))
	f.Fuzz(func(t *testing.T, program, arg, env, dir, id string, timeout int64) {
		c := Command{Argv: []string{program, arg}, Env: []string{env}, Dir: dir, ID: id, Timeout: time.Duration(timeout)}
		err := c.Validate()
		if err != nil {
			assert.ErrorIs(t, err, ErrInvalid)
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		assert.NotEmpty(t, program)
		assert.NotContains(t, program+arg+env+dir+id, "\x00")
		assert.Positive(t, strings.Index(env, "="))
		assert.True(t, dir == "" || dir[0] == '/')
		assert.NotContains(t, dir+"/", "/../")
		assert.NotContains(t, id, "/")
		assert.GreaterOrEqual(t, timeout, int64(0))
	})
}
