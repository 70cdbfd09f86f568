//go:build !windows

package tools_test

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// The operator's configuration says what an agent may, and is none of the agent's files, though a root holds it.
func TestProtectedFiles(t *testing.T) {
	ts := set(t, fake.New())
	ws := ts.Workspace
	file := filepath.Join(ws, "gateway", "config.yaml")
	put(t, ws, "gateway/config.yaml", "key: secret")
	require.NoError(t, os.Symlink("gateway", filepath.Join(ws, "dir")))
	require.NoError(t, os.Symlink("gateway/config.yaml", filepath.Join(ws, "link")))
	require.NoError(t, os.Link(file, filepath.Join(ws, "hard")))
	for _, path := range []string{"gateway/config.yaml", "dir/config.yaml", "link", "hard", file, "/workspace/gateway/../link"} {
		ts.Protected = nil
		c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		require.NoError(t, err)
		require.Equal(t, "key: secret", c.Content, "the way is there")
		ts.Protected = []string{filepath.Join(ws, "absent"), file}
		_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		assert.ErrorIs(t, err, sandbox.ErrRefused, "read %s", path)
		_, err = ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "runtime: {sandbox: {mode: unsandboxed}}"})
		assert.ErrorIs(t, err, sandbox.ErrRefused, "write %s", path)
		assert.True(t, tools.Final(err))
	}
	assert.Equal(t, "key: secret", read(t, file))
	assert.Equal(t, []string{"config.yaml"}, names(t, filepath.Dir(file)))
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "gateway/other", Content: "x"})
	assert.NoError(t, err)
}

// brokenFetcher gets a file whose reading fails.
type brokenFetcher struct{ cause error }

func (f brokenFetcher) Fetch(context.Context, *url.URL) (io.ReadCloser, int64, error) {
	return io.NopCloser(iotest.ErrReader(f.cause)), -1, nil
}

// What fails in this process is told without the paths and addresses of this machine, and stays what it is.
func TestFailuresTellNoPlaces(t *testing.T) {
	ts := set(t, fake.New())
	for _, cause := range []error{
		&fs.PathError{Op: "read", Path: "/srv/secret", Err: syscall.EIO},
		&net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7)}, Err: os.NewSyscallError("read", syscall.EIO)},
	} {
		ts.Download.Fetcher = brokenFetcher{cause}
		_, err := ts.DownloadFile(t.Context(), tools.DownloadArgs{URL: "http://a/", Path: "x"})
		assert.EqualError(t, err, `download_file: "x": input/output error`)
		assert.ErrorIs(t, err, syscall.EIO)
		assert.False(t, tools.Final(err), "another attempt may not fail")
	}
	assert.Empty(t, names(t, ts.Workspace))
}
