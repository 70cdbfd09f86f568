//go:build unix

package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func isKind(err, kind error) bool { return errors.Is(err, kind) }

// inherited opens descriptors that a careless child would inherit, directories of the host among them.
func inherited(t *testing.T) {
	for i := range 200 {
		name := "/"
		if i%2 == 1 {
			name = "/etc/passwd"
		}
		fd, err := syscall.Open(name, syscall.O_RDONLY, 0)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	}
}

// secret is the value of every variable that hostile sets; it must be nowhere inside.
const secret = "host-secret-7d1f"

// hostile fills the caller's environment with what must not reach a program.
func hostile(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME",
		"NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "PERL5LIB", "PERL5OPT", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS",
		"GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "XAUTHORITY",
		"AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "HTTP_PROXY", "https_proxy",
		"KUBECONFIG", "EDITOR", "TOOLCELL_SECRET",
	} {
		t.Setenv(name, "/"+secret)
	}
}

// treeSum is a hash over names, kinds, modes, owners, link targets and contents below dir.
func treeSum(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(h, "%q %v %d:%d %d\n", p, info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano())
		return hashContent(h, p, info.Mode())
	}))
	return hex.EncodeToString(h.Sum(nil))
}

// hashContent writes to h what the file or link at p holds.
func hashContent(h interface{ Write([]byte) (int, error) }, p string, mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		_, err = h.Write(b)
		return err
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		if err != nil {
			return err
		}
		_, err = h.Write([]byte(target))
		return err
	default:
		return nil
	}
}

// tap collects what a program writes and tells when it has seen some text.
type tap struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	want string
	seen chan struct{}
}

func newTap(want string) *tap { return &tap{want: want, seen: make(chan struct{})} }

// Write implements io.Writer.
func (w *tap) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := bytes.Contains(w.buf.Bytes(), []byte(w.want))
	w.buf.Write(b)
	if !before && bytes.Contains(w.buf.Bytes(), []byte(w.want)) {
		close(w.seen)
	}
	return len(b), nil
}

// await waits until the text was seen, and fails when the call ends before it.
func (w *tap) await(t *testing.T, done <-chan outcome) {
	t.Helper()
	select {
	case <-w.seen:
	case o := <-done:
		require.Fail(t, "the call ended first", "%q was not seen in %q; stderr %q, status %q, error %v",
			w.want, w.String(), o.res.Stderr, o.res.Status, o.err)
	}
}

// String returns what was written so far.
func (w *tap) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// workspace returns a new empty directory, mode 0700, that a mount may show, with every parent open to others. It belongs
// to the owner of workspaces.
func (e *env) workspace(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcell-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	e.give(t, dir)
	return dir
}

// owner returns who workspaces belong to: the caller, unless that is root and ids inside are the host's.
func (e *env) owner() (uid, gid int) {
	if e.HostIDs && os.Geteuid() == 0 {
		return rootless, rootless
	}
	return os.Geteuid(), os.Getegid()
}

// give makes everything below dir the owner's.
func (e *env) give(t *testing.T, dir string) {
	t.Helper()
	uid, gid := e.owner()
	if uid == os.Geteuid() {
		return
	}
	require.NoError(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, uid, gid)
	}))
}

// requireVariable makes a feature that is missing a failure when it is 1.
const requireVariable = "TOOLCELL_TEST_REQUIRE"

// Skip skips t because the host lacks something. With TOOLCELL_TEST_REQUIRE=1 in the environment that is a failure.
func Skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(requireVariable) == "1" {
		require.Fail(t, "a test may not be skipped here", "%s", why)
	}
	t.Skip(why)
}

// IsRefusal reports whether err is a typed error that says no.
func IsRefusal(err error) bool {
	return errors.Is(err, sandbox.ErrRefused) || errors.Is(err, sandbox.ErrInvalid)
}
