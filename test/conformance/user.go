//go:build unix

package conformance

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// userVariable is set in the test program that [AsUser] started: where its programs are.
const userVariable = "TOOLCELL_TEST_ORDINARY_USER"

// ordinaryUser is a host user that no program of this machine runs as. It is not nobody.
const ordinaryUser = 65533

// AsUser runs f as an ordinary user: here, when the test does not run as root, or else in the same test of a new process of
// this program. programs are paths that f needs; f gets the paths at which that user may run them.
func AsUser(t *testing.T, programs []string, f func(t *testing.T, programs []string)) {
	if dir := os.Getenv(userVariable); dir != "" {
		require.NotZero(t, os.Geteuid())
		f(t, inDir(dir, programs))
		return
	}
	if os.Geteuid() != 0 {
		f(t, programs)
		return
	}
	dir := userDir(t)
	self := filepath.Join(dir, "self.test")
	copyProgram(t, "/proc/self/exe", self)
	for i, p := range inDir(filepath.Join(dir, "programs"), programs) {
		copyProgram(t, programs[i], p)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=30m")
	cmd.Dir = dir
	cmd.Env = []string{
		userVariable + "=" + filepath.Join(dir, "programs"), "HOME=" + filepath.Join(dir, "home"),
		"TMPDIR=" + filepath.Join(dir, "tmp"), "PATH=" + os.Getenv("PATH"), requireVariable + "=" + os.Getenv(requireVariable),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	out, err := cmd.CombinedOutput()
	t.Logf("as uid %d:\n%s", ordinaryUser, out)
	require.NoError(t, err, "the test as uid %d", ordinaryUser)
}

// IsUserPart reports whether this process is the one that [AsUser] started.
func IsUserPart() bool { return os.Getenv(userVariable) != "" }

// userDir returns a new directory in which everything belongs to the ordinary user.
func userDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcell-user-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	for _, sub := range []string{"", "home", "tmp", "programs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
		require.NoError(t, os.Chmod(filepath.Join(dir, sub), 0o755))
		require.NoError(t, os.Chown(filepath.Join(dir, sub), ordinaryUser, ordinaryUser))
	}
	return dir
}

func inDir(dir string, programs []string) []string {
	moved := make([]string, len(programs))
	for i, p := range programs {
		moved[i] = filepath.Join(dir, filepath.Base(p))
	}
	return moved
}

func copyProgram(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Chmod(0o755)) // whatever the umask
	require.NoError(t, out.Close())
}
