package tools_test

import (
	"fmt"
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

// A program that fills its output directory is ended, whether by bytes or by names in one directory.
func TestRunCodeFull(t *testing.T) {
	for want, fill := range map[string]func(dir string){
		"more than 1 MB": func(dir string) {
			for i := range 3 {
				assert.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 1<<19), 0o600))
			}
		},
		"more than 20000 names": func(dir string) {
			for i := range 20001 {
				assert.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
		},
		"directories nested deeper than 64": func(dir string) {
			assert.NoError(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 70)), 0o700))
		},
	} {
		assertFull(t, want, fill)
	}
}

// A directory that can be written and not read would hide what is in it.
func TestRunCodeHides(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every directory")
	}
	assertFull(t, "a directory in it cannot be read", func(dir string) {
		assert.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0))
		assert.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o300))
		assert.NoError(t, os.WriteFile(filepath.Join(dir, "d", "x"), nil, 0o600))
	})
}

// assertFull checks that a program which fills its output directory is ended, and why, and that nothing is left.
func assertFull(t *testing.T, want string, fill func(dir string)) {
	t.Helper()
	b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		fill(source(t, c, "/output"))
		return fake.Reply{Block: true}
	}}
	ts := set(t, b)
	ts.Artifacts.DiskBytes = 1 << 20
	r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x"})
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, r.Result.Status)
	assert.Contains(t, r.Text(), "Execution stopped: the output directory is full: "+want+"\n")
	assert.Empty(t, names(t, ts.TempDir))
}
