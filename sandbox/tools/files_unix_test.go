//go:build !windows

package tools_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestWriteFile(t *testing.T) {
	ts := set(t, fake.New())
	ws := ts.Workspace
	for path, want := range map[string]string{
		"a.txt": "a.txt", "sub/deep/b.txt": "sub/deep/b.txt", "./c": "c", "x/../d": "d", "e.": "e.", "/workspace/f": "f", "/workspace//g/h": "g/h",
		ws + "/i": "i", ws + "/j/k": "j/k", "odd \n\xff name": "odd \n\xff name",
	} {
		w, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "content"})
		require.NoError(t, err, "%q", path)
		assert.Equal(t, tools.Written{Path: path, Bytes: 7}, w)
		assert.Equal(t, "content", read(t, filepath.Join(ws, want)))
	}
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "a.txt", Content: ""})
	require.NoError(t, err)
	assert.Empty(t, read(t, filepath.Join(ws, "a.txt")), "replaced as a whole")
	assert.NotContains(t, strings.Join(names(t, ws), " "), ".toolcell-")
	info, err := os.Stat(filepath.Join(ws, "sub/deep/b.txt"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o644), info.Mode())
}

func TestWriteFileKeepsMode(t *testing.T) {
	ts := set(t, fake.New())
	path := filepath.Join(ts.Workspace, "run.sh")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o755))
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "run.sh", Content: "x"})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o755), info.Mode())
}

// What root makes in a directory of the sandbox's user belongs to that user.
func TestWriteFileOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files for others")
	}
	ts := set(t, fake.New())
	ws := filepath.Join(ts.Workspace, "data", "sandbox")
	require.NoError(t, tools.MakeWorkspace(ws))
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "data/sandbox/d/e/f", Content: "x"})
	require.NoError(t, err)
	for _, p := range []string{"", "d", "d/e", "d/e/f"} {
		info, err := os.Stat(filepath.Join(ws, p))
		require.NoError(t, err)
		s := info.Sys().(*syscall.Stat_t)
		assert.Equal(t, [2]uint32{65532, 65532}, [2]uint32{s.Uid, s.Gid}, p)
	}
}

func TestMakeWorkspace(t *testing.T) {
	ws := filepath.Join(realTemp(t), "a", "data", "sandbox")
	for range 2 {
		require.NoError(t, tools.MakeWorkspace(ws))
		info, err := os.Stat(ws)
		require.NoError(t, err)
		assert.Equal(t, fs.ModeDir|0o700, info.Mode())
	}
	link := filepath.Join(realTemp(t), "link")
	require.NoError(t, os.Symlink(ws, link))
	assert.ErrorIs(t, tools.MakeWorkspace(link), sandbox.ErrInvalid, "a link could lead anywhere")
	assert.ErrorIs(t, tools.MakeWorkspace("relative"), sandbox.ErrInvalid)
}

// Every way out, for every tool that works on files. Each target exists and can be reached without the tools.
func TestFilesStayInside(t *testing.T) {
	out := realTemp(t)
	secret := filepath.Join(out, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	ts := set(t, fake.New())
	ws := ts.Workspace
	require.NoError(t, os.Symlink(secret, filepath.Join(ws, "link")))
	require.NoError(t, os.Symlink(filepath.Join(out, "new"), filepath.Join(ws, "dangling")))
	require.NoError(t, os.Symlink(out, filepath.Join(ws, "dir")))
	rel, err := filepath.Rel(ws, out)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(rel, filepath.Join(ws, "reldir")))
	require.NoError(t, os.Symlink("/proc/self/root"+out, filepath.Join(ws, "magic")))
	require.Equal(t, "secret", read(t, filepath.Join(ws, "magic", "secret")), "the way is there")
	for _, path := range []string{
		"link", "dangling", "dir/secret", "dir/new", "reldir/secret", "magic/secret", rel + "/secret", "../x", "a/../../x", "..", "/workspace/../etc/x",
		"/workspace/link", "/workspace/../../" + out + "/secret", secret, "/etc/passwd", "/", "~/x", ws + "/../x", ws + "-beside", "/workspaces/x",
	} {
		_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "x"})
		assertOutside(t, err, "write "+path)
		_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		assertOutside(t, err, "read "+path)
		_, err = ts.ListFiles(t.Context(), tools.ListArgs{Path: filepath.Dir(path) + "/" + filepath.Base(path)})
		assertOutside(t, err, "list "+path)
	}
	assert.Equal(t, "secret", read(t, secret))
	assert.Equal(t, []string{"secret"}, names(t, out))
}

func assertOutside(t *testing.T, err error, what string) {
	t.Helper()
	if assert.ErrorIs(t, err, sandbox.ErrRefused, what) {
		assert.ErrorContains(t, err, "filesystem access denied for ")
		assert.ErrorContains(t, err, ": outside configured workspace roots")
		assert.True(t, tools.Final(err))
	}
}

// A directory of the path becomes a link outwards, and back, as fast as a program can do it.
func TestWriteFileRace(t *testing.T) {
	out := realTemp(t)
	ts := set(t, fake.New())
	dir, spare := filepath.Join(ts.Workspace, "d"), filepath.Join(ts.Workspace, "spare")
	require.NoError(t, os.Mkdir(dir, 0o700))
	ctx, stop := context.WithCancel(t.Context())
	var swaps, through atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			swap(dir, spare, out)
			swaps.Add(1)
			if _, err := os.Lstat(filepath.Join(dir, "canary")); err == nil {
				through.Add(1)
			}
		}
	}()
	canary := filepath.Join(out, "canary")
	require.NoError(t, os.WriteFile(canary, []byte("secret"), 0o600))
	written := 0
	for range 400 {
		if _, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "d/new", Content: "x"}); err == nil {
			written++
		}
		_, _ = ts.WriteFile(t.Context(), tools.WriteArgs{Path: "d/sub/new", Content: "x"})
		_, _ = ts.WriteFile(t.Context(), tools.WriteArgs{Path: "d/canary", Content: "x"})
		if c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "d/canary"}); err == nil {
			require.NotEqual(t, "secret", c.Content)
		}
	}
	stop()
	<-done
	assert.Positive(t, written, "some writes found the directory")
	assert.Positive(t, swaps.Load())
	assert.Equal(t, "secret", read(t, canary))
	assert.Equal(t, []string{"canary"}, names(t, out), "nothing was written outside")
}

// swap puts a link to out in the place of dir and takes it away again.
func swap(dir, spare, out string) {
	if os.Rename(dir, spare) == nil {
		_ = os.Symlink(out, dir)
		_ = os.Remove(dir)
		for os.Rename(spare, dir) != nil { // a write made a directory meanwhile
			_ = os.RemoveAll(dir)
		}
	}
}

func TestFilesOtherThanFiles(t *testing.T) {
	ts := set(t, fake.New())
	ws := ts.Workspace
	require.NoError(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o600))
	require.NoError(t, os.Symlink("pipe", filepath.Join(ws, "link")))
	require.NoError(t, os.Symlink("loop", filepath.Join(ws, "loop")))
	require.NoError(t, os.Mkdir(filepath.Join(ws, "dir"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(ws, "file"), []byte("x"), 0o600))
	for _, path := range []string{"pipe", "link", "loop", "dir", ".", "pipe/x", "file/x", "", "a\x00b", strings.Repeat("n", 300), strings.Repeat("n/", 1<<20)} {
		_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "x"})
		assert.ErrorIs(t, err, sandbox.ErrInvalid, "write %q", path)
		_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		assert.ErrorIs(t, err, sandbox.ErrInvalid, "read %q", path)
	}
	for _, path := range []string{"pipe", "link", "loop", "file", "missing", "a\x00b"} {
		_, err := ts.ListFiles(t.Context(), tools.ListArgs{Path: path})
		assert.ErrorIs(t, err, sandbox.ErrInvalid, "list %q", path)
	}
	_, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "missing"})
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, []string{"dir", "file", "link", "loop", "pipe"}, names(t, ws))
}

// A link that stays inside works, and stays.
func TestWriteFileThroughLink(t *testing.T) {
	ts := set(t, fake.New())
	ws := ts.Workspace
	put(t, ws, "real/file", "a longer one")
	require.NoError(t, os.Symlink("real", filepath.Join(ws, "dir")))
	require.NoError(t, os.Symlink("../real/file", filepath.Join(ws, "real/link")))
	for _, path := range []string{"dir/file", "dir/link"} {
		_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: path})
		require.NoError(t, err)
		assert.Equal(t, path, read(t, filepath.Join(ws, "real/file")))
	}
	assert.Equal(t, []string{"file", "link"}, names(t, filepath.Join(ws, "real")))
}

func TestFilesChokepoint(t *testing.T) {
	down := &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "docker", Cause: errors.New("the daemon is down")}
	for name, ts := range map[string]tools.Tools{
		"zero value":   {Workspace: realTemp(t)},
		"backend down": set(t, &fake.Backend{ReadyErr: down}),
		"no workspace": {Chooser: always(fake.New())},
		"no such root": {Chooser: always(fake.New()), Workspace: "/nonexistent/x"},
	} {
		for tool, call := range map[string]func() error{
			"write": func() error { _, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "x"}); return err },
			"read":  func() error { _, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "x"}); return err },
			"list":  func() error { _, err := ts.ListFiles(t.Context(), tools.ListArgs{}); return err },
		} {
			err := call()
			assert.Error(t, err, name+" "+tool)
			assert.True(t, tools.Final(err), name+" "+tool)
		}
		if ts.Workspace != "" && name != "no such root" {
			assert.Empty(t, names(t, ts.Workspace))
		}
	}
	_, err := set(t, &fake.Backend{ReadyErr: down}).WriteFile(t.Context(), tools.WriteArgs{Path: "x"})
	assert.EqualError(t, err, `privileged tool "write_file" refused: docker: the daemon is down`)
}

// What works in the caller's own process is no sandbox, and does not pass for one.
func TestFilesIsolation(t *testing.T) {
	for name, place := range map[string]tools.Place{"sandbox": {Backend: fake.New()}, "host": {Backend: fake.New(), OnHost: true}, "nothing": {}} {
		ts := set(t, fake.New())
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) { return place, nil })
		put(t, ts.Workspace, "x", "old")
		for isolation, want := range map[string]error{"": nil, "sandbox": sandbox.ErrRefused} {
			_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "x", Content: "old", Isolation: isolation})
			assert.ErrorIs(t, err, want, name)
			_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: "x", Isolation: isolation})
			assert.ErrorIs(t, err, want, name)
			_, err = ts.ListFiles(t.Context(), tools.ListArgs{Isolation: isolation})
			assert.ErrorIs(t, err, want, name)
		}
		_, err := ts.DownloadFile(t.Context(), tools.DownloadArgs{URL: "http://127.0.0.1/", Path: "x", Isolation: "sandbox"})
		assert.ErrorContains(t, err, "caller's own process", name)
	}
}

func TestWriteFileTooLarge(t *testing.T) {
	ts := set(t, fake.New())
	ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
		return tools.Place{Profile: sandbox.ContainerProfile{Limits: sandbox.Limits{FileSizeMB: 1}}}, nil
	})
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "x", Content: strings.Repeat("x", 1<<20+1)})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
	_, err = ts.WriteFile(t.Context(), tools.WriteArgs{Path: "x", Content: strings.Repeat("x", 1<<20)})
	assert.NoError(t, err, "a place without a backend serves what runs no program")
}

func TestRoots(t *testing.T) {
	ts := set(t, fake.New())
	first, second, link := realTemp(t), realTemp(t), filepath.Join(realTemp(t), "link")
	require.NoError(t, os.Symlink(second, link))
	ts.Roots = []string{first, link}
	for path, want := range map[string]string{"a": first + "/a", second + "/b": second + "/b", link + "/c": second + "/c"} {
		_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "x"})
		require.NoError(t, err, path)
		assert.FileExists(t, want)
	}
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "/workspace/x", Content: "x"})
	assertOutside(t, err, "the workspace is no root here")
}

// A program can make links in the workspace, and the root above it holds what no program may reach.
func TestLinksStayInWorkspace(t *testing.T) {
	ts := set(t, fake.New())
	root := ts.Workspace
	ts.Roots, ts.Workspace = []string{root}, filepath.Join(root, "data", "sandbox")
	put(t, root, "config", "secret")
	put(t, root, "data/sandbox/in", "in")
	require.NoError(t, os.Symlink("../../config", filepath.Join(ts.Workspace, "link")))
	require.NoError(t, os.Symlink("../..", filepath.Join(ts.Workspace, "dir")))
	require.NoError(t, os.Symlink("in", filepath.Join(ts.Workspace, "inner")))
	require.Equal(t, "secret", read(t, filepath.Join(ts.Workspace, "link")), "the way is there")
	for _, at := range []string{"data/sandbox/", "data//x/../sandbox/", "/workspace/", ts.Workspace + "/"} {
		for _, name := range []string{"link", "dir/config", "dir/data/../config"} {
			_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: at + name, Content: "x"})
			assertOutside(t, err, "write "+at+name)
			_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: at + name})
			assertOutside(t, err, "read "+at+name)
		}
		c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: at + "inner"})
		require.NoError(t, err, at)
		assert.Equal(t, "in", c.Content)
	}
	assert.Equal(t, "secret", read(t, filepath.Join(root, "config")))
	c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "config"})
	require.NoError(t, err, "the root itself is the operator's")
	assert.Equal(t, "secret", c.Content)
}

// A root inside the workspace is a name there, and a program can give it to a link.
func TestRootBecomesLink(t *testing.T) {
	ts := set(t, fake.New())
	out, dir := realTemp(t), filepath.Join(ts.Workspace, "dir")
	put(t, out, "secret", "secret")
	put(t, dir, "secret", "mine")
	ts.Roots = []string{dir}
	c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "secret"})
	require.NoError(t, err)
	require.Equal(t, "mine", c.Content)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Symlink(out, dir))
	require.Equal(t, "secret", read(t, filepath.Join(dir, "secret")), "the way is there")
	for _, path := range []string{"secret", dir + "/secret"} {
		_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		assert.Error(t, err, path)
		assert.True(t, tools.Final(err), path)
		_, err = ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "x"})
		assert.Error(t, err, path)
	}
	assert.Equal(t, "secret", read(t, filepath.Join(out, "secret")))
}

func TestReadFile(t *testing.T) {
	ts := set(t, fake.New())
	put(t, ts.Workspace, "text", "äöü")
	put(t, ts.Workspace, "binary", "\x00\xff")
	put(t, ts.Workspace, "empty", "")
	for _, c := range []struct {
		args tools.ReadArgs
		want tools.FileContent
		text string
	}{
		{tools.ReadArgs{Path: "text"}, tools.FileContent{Content: "äöü", Size: 6}, "äöü"},
		{tools.ReadArgs{Path: "text", Limit: 3}, tools.FileContent{Content: "ä", Size: 6, NextOffset: 2}, "ä\n[output truncated] (go on with offset 2 of 6)"},
		{tools.ReadArgs{Path: "text", Offset: 2, Limit: 100}, tools.FileContent{Content: "öü", Size: 6}, "öü"},
		{tools.ReadArgs{Path: "text", Offset: 99}, tools.FileContent{Size: 6}, ""},
		{tools.ReadArgs{Path: "binary"}, tools.FileContent{Content: "AP8=", Base64: true, Size: 2}, "[base64, since the file is no UTF-8]\nAP8="},
		{tools.ReadArgs{Path: "/workspace/empty"}, tools.FileContent{}, ""},
	} {
		c.want.Path = c.args.Path
		got, err := ts.ReadFile(t.Context(), c.args)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.text, got.Text())
	}
	put(t, ts.Workspace, "large", strings.Repeat("x", 3<<20))
	for asked, want := range map[int64]int{0: 256 << 10, 100: 100, 9 << 20: 1 << 20} {
		got, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "large", Limit: asked})
		require.NoError(t, err)
		assert.Len(t, got.Content, want)
	}
	_, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "text", Offset: -1})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
}

func TestListFiles(t *testing.T) {
	ts := set(t, fake.New())
	l, err := ts.ListFiles(t.Context(), tools.ListArgs{})
	require.NoError(t, err)
	assert.Equal(t, tools.Listing{Path: ".", Entries: []tools.FileEntry{}}, l)
	assert.Equal(t, "(empty)\n", l.Text())
	put(t, ts.Workspace, "b/c", "12")
	put(t, ts.Workspace, "a\nb", "1")
	require.NoError(t, os.Symlink("/etc", filepath.Join(ts.Workspace, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(ts.Workspace, "pipe"), 0o600))
	l, err = ts.ListFiles(t.Context(), tools.ListArgs{Path: "/workspace"})
	require.NoError(t, err)
	assert.Equal(t, "\"a\\nb\" (1 bytes)\nb/\nlink (symlink)\npipe (other)\n", l.Text())
	l, err = ts.ListFiles(t.Context(), tools.ListArgs{Recursive: true})
	require.NoError(t, err)
	assert.Len(t, l.Entries, 5)
	assert.Contains(t, l.Entries, tools.FileEntry{Name: "b/c", Type: "file", Size: 2})
	for i := range 1001 {
		put(t, ts.Workspace, "b/"+strings.Repeat("n", 1+i%200)+strings.Repeat("m", i/200), "")
	}
	l, err = ts.ListFiles(t.Context(), tools.ListArgs{Path: "b"})
	require.NoError(t, err)
	assert.True(t, l.Truncated)
	assert.Len(t, l.Entries, tools.MaxListed)
	assert.Contains(t, l.Text(), "\n[output truncated]\n")
}
