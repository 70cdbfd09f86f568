//go:build !windows

package tools_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/sandbox/tools/netguard"
	"github.com/soulacy/toolcell/test/fake"
)

// web serves what downloads can meet.
func web(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") })
	mux.HandleFunc("/size/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		w.(http.Flusher).Flush() // no Content-Length
		_, _ = io.WriteString(w, strings.Repeat("x", n))
	})
	mux.HandleFunc("/declared", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999999") })
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
	})
	mux.HandleFunc("/again", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// downloader makes tools that may reach s.
func downloader(t *testing.T, s *httptest.Server) tools.Tools {
	ts := set(t, fake.New())
	ts.Download.Fetcher = netguard.Guard{Allow: func(a netip.AddrPort) bool { return a.String() == s.Listener.Addr().String() }}
	ts.Download.MaxBytes = 1000
	return ts
}

func TestDownloadFile(t *testing.T) {
	s := web(t)
	ts := downloader(t, s)
	for path, from := range map[string]string{"a": "/ok", "d/e/b": "/ok", "/workspace/c": "/again"} {
		w, err := ts.DownloadFile(t.Context(), tools.DownloadArgs{URL: s.URL + from, Path: path})
		require.NoError(t, err)
		assert.Equal(t, tools.Written{Path: path, Bytes: 7}, w)
		assert.Equal(t, "content", read(t, filepath.Join(ts.Workspace, strings.TrimPrefix(path, "/workspace/"))))
	}
	_, err := ts.DownloadFile(t.Context(), tools.DownloadArgs{URL: s.URL + "/size/1000", Path: "a"})
	require.NoError(t, err)
	assert.Len(t, read(t, filepath.Join(ts.Workspace, "a")), 1000)
}

// Whatever goes wrong, nothing new is there, and what was there is as it was.
func TestDownloadFileFails(t *testing.T) {
	s := web(t)
	ts := downloader(t, s)
	ts.Download.Timeout = 500 * time.Millisecond
	put(t, ts.Workspace, "old", "old")
	require.NoError(t, os.Symlink("/etc", filepath.Join(ts.Workspace, "out")))
	require.NoError(t, os.Symlink("old", filepath.Join(ts.Workspace, "link")))
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, c := range []struct {
		url, path string
		want      error // nil when another attempt may help
	}{
		{s.URL + "/size/1001", "d/new", sandbox.ErrInvalid},
		{s.URL + "/size/1001", "old", sandbox.ErrInvalid},
		{s.URL + "/declared", "d/new", sandbox.ErrInvalid},
		{s.URL + "/short", "d/new", nil},
		{s.URL + "/short", "old", nil},
		{s.URL + "/short", "link", nil},
		{s.URL + "/hang", "d/new", nil},
		{s.URL + "/busy", "d/new", nil},
		{s.URL + "/gone", "d/new", sandbox.ErrInvalid},
		{s.URL + "/away", "d/new", sandbox.ErrRefused},
		{other.URL, "d/new", sandbox.ErrRefused},
		{"http://127.0.0.1:1/", "d/new", sandbox.ErrRefused},
		{"http://localhost/", "d/new", sandbox.ErrRefused},
		{"http://[::ffff:169.254.169.254]/", "d/new", sandbox.ErrRefused},
		{"http://[64:ff9b::a9fe:a9fe]/", "d/new", sandbox.ErrRefused},
		{"file:///etc/passwd", "d/new", sandbox.ErrRefused},
		{"ftp://example.com/", "d/new", sandbox.ErrRefused},
		{"http://u:p@example.com/", "d/new", sandbox.ErrRefused},
		{"", "d/new", sandbox.ErrInvalid},
		{"http://a b/", "d/new", sandbox.ErrInvalid},
		{"http://%zz/", "d/new", sandbox.ErrInvalid},
		{s.URL + "/ok", "../new", sandbox.ErrRefused},
		{s.URL + "/ok", "out/new", sandbox.ErrRefused},
		{s.URL + "/ok", "/etc/new", sandbox.ErrRefused},
		{s.URL + "/ok", "", sandbox.ErrInvalid},
	} {
		_, err := ts.DownloadFile(t.Context(), tools.DownloadArgs{URL: c.url, Path: c.path})
		if assert.Error(t, err, c.url) && c.want != nil {
			assert.ErrorIs(t, err, c.want, c.url)
			assert.True(t, tools.Final(err), c.url)
		}
		assert.Equal(t, []string{"link", "old", "out"}, names(t, ts.Workspace), c.url)
		assert.Equal(t, "old", read(t, filepath.Join(ts.Workspace, "old")))
	}
	ts.Download.Fetcher = nil
	_, err := ts.DownloadFile(t.Context(), tools.DownloadArgs{URL: s.URL + "/ok", Path: "x"})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	assert.ErrorContains(t, err, "this program downloads nothing")
	_, err = tools.Tools{Workspace: ts.Workspace}.DownloadFile(t.Context(), tools.DownloadArgs{URL: s.URL + "/ok", Path: "x"})
	assert.EqualError(t, err, `privileged tool "download_file" refused: isolation is unavailable; refusing host execution`)
}
