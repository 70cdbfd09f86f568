//go:build !windows

package tools_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// leave runs code whose "program" fills the output directory with write.
func leave(t *testing.T, l tools.ArtifactLimits, write func(dir string)) tools.CodeResult {
	t.Helper()
	ts := set(t, &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		write(source(t, c, "/output"))
		return fake.Exit(0, "", "")
	}})
	ts.Artifacts = l
	r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x"})
	require.NoError(t, err)
	assert.Empty(t, names(t, ts.TempDir))
	return r
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestArtifacts(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString(dot)
	require.NoError(t, err)
	r := leave(t, tools.ArtifactLimits{}, func(dir string) {
		put(t, dir, "plot.png", string(png))
		put(t, dir, "fake.png", "no image")
		put(t, dir, "sub/data.csv", "a,b\n")
		put(t, dir, "page.svg", "<svg/>")
		put(t, dir, "odd\nname", "")
		put(t, dir, "raw", "\x00\x01\xff")
	})
	types := map[string]string{}
	images := []string{}
	for _, a := range r.Artifacts {
		types[a.Name] = a.Type
		assert.Len(t, a.Data, int(a.Size))
		if a.Image() {
			images = append(images, a.Name)
		}
	}
	assert.Equal(t, map[string]string{
		"plot.png": "image/png", "fake.png": "text/plain", "sub/data.csv": "text/csv", "page.svg": "image/svg+xml",
		"odd\nname": "text/plain", "raw": "application/octet-stream",
	}, types)
	assert.Equal(t, []string{"plot.png"}, images)
	assert.Empty(t, r.Omitted)
	assert.Len(t, r.Result.Artifacts, 6)
	assert.Contains(t, r.Text(), "\n(no output)\n\n--- files ---\n")
	assert.Contains(t, r.Text(), fmt.Sprintf("plot.png (image/png, %d bytes)\n", len(png)))
	assert.Contains(t, r.Text(), `"odd\nname" (text/plain, 0 bytes)`)
}

// Only regular files of the output directory come back, whatever a program puts beside them.
func TestArtifactsHostile(t *testing.T) {
	secret := filepath.Join(realTemp(t), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	r := leave(t, tools.ArtifactLimits{}, func(dir string) {
		put(t, dir, "good", "good")
		require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link")))
		require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(dir, "dir")))
		require.NoError(t, os.Symlink("good", filepath.Join(dir, "inner")))
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
		require.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0))
		put(t, dir, strings.Repeat("d/", 20)+"deep", "deep")
	})
	require.Len(t, r.Artifacts, 1)
	assert.Equal(t, "good", r.Artifacts[0].Name)
	all := strings.Join(r.Omitted, "\n")
	for _, name := range []string{"link", "dir", "inner", "pipe"} {
		assert.Contains(t, all, name+": it is no regular file")
	}
	assert.Contains(t, all, ": it is too deep")
	assert.Contains(t, r.Text(), "not returned: pipe: it is no regular file\n")
}

// Directories nested deeper than this process may have files open are no leftover.
func TestArtifactsDeep(t *testing.T) {
	control := realTemp(t)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	limit := old
	limit.Cur = 256
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	defer func() { assert.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)) }()
	nest(t, control, 1000)
	require.ErrorIs(t, os.RemoveAll(control), syscall.EMFILE, "it is too deep to be removed level by level")
	r := leave(t, tools.ArtifactLimits{}, func(dir string) { nest(t, dir, 1000) })
	assert.Empty(t, r.Artifacts)
	require.Len(t, r.Omitted, 1)
	assert.Contains(t, r.Omitted[0], ": it is too deep")
}

// nest makes n directories inside one another, and one in the last that nobody can read.
func nest(t *testing.T, dir string, n int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	for range n {
		require.NoError(t, root.Mkdir("d", 0o700))
		sub, err := root.OpenRoot("d")
		require.NoError(t, err)
		require.NoError(t, root.Close())
		root = sub
	}
	require.NoError(t, root.Mkdir("closed", 0))
	require.NoError(t, root.Close())
}

func TestArtifactLimits(t *testing.T) {
	r := leave(t, tools.ArtifactLimits{Files: 3, FileBytes: 10, TotalBytes: 25}, func(dir string) {
		put(t, dir, "a", strings.Repeat("x", 10))
		put(t, dir, "b", strings.Repeat("x", 11))
		put(t, dir, "c", strings.Repeat("x", 10))
		put(t, dir, "d", strings.Repeat("x", 10))
		put(t, dir, "e", "")
		put(t, dir, "f", "")
	})
	var got []string
	for _, a := range r.Artifacts {
		got = append(got, a.Name)
	}
	assert.Equal(t, []string{"a", "c", "e"}, got)
	assert.Equal(t, []string{"b: 11 bytes are too large", "d: all files together are too large", "f: there are too many files"}, r.Omitted)

	r = leave(t, tools.ArtifactLimits{Files: -1}, func(dir string) { put(t, dir, "a", "x") })
	assert.Empty(t, r.Artifacts)

	r = leave(t, tools.ArtifactLimits{}, func(dir string) {
		for i := range 4200 {
			put(t, dir, fmt.Sprintf("%05d", i), "")
		}
		require.NoError(t, os.Truncate(filepath.Join(dir, "00000"), 1<<40), "a sparse file")
	})
	assert.Len(t, r.Artifacts, 32)
	assert.Contains(t, r.Omitted[0], "too large")
	assert.Less(t, len(r.Omitted), 40)
	assert.Contains(t, r.Omitted[len(r.Omitted)-1], "everything after")
}
