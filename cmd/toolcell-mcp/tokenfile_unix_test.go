//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A token that other users can read, or have written, is none.
func TestReadToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(" 0123456789abcdef\n"), 0o600))
	for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
		require.NoError(t, os.Chmod(file, mode))
		token, err := readToken(file)
		require.NoError(t, err)
		assert.Equal(t, "0123456789abcdef", token)
	}
	for _, mode := range []os.FileMode{0o640, 0o620, 0o604, 0o602, 0o644} {
		require.NoError(t, os.Chmod(file, mode))
		token, err := readToken(file)
		require.ErrorContains(t, err, "others can read or write it (mode 0")
		require.ErrorContains(t, err, "(chmod 600 it, ")
		assert.Empty(t, token)
	}
	require.NoError(t, os.Chmod(file, 0o600))
	info, err := os.Stat(file)
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(file, 1000, 1000))
		_, err = readToken(file)
		require.ErrorContains(t, err, "it belongs to uid 1000, which knows the token then (write a new token")
		info, err = os.Stat(file)
		require.NoError(t, err)
		cause, _ := exposed(info, 1000)
		assert.Empty(t, cause, "one's own")
	}
	cause, _ := exposed(info, 1001)
	assert.NotEmpty(t, cause, "another's")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = readToken(filepath.Dir(file))
	require.ErrorContains(t, err, "it is a directory (name the file")
}
