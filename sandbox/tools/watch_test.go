package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
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
	} {
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
}
