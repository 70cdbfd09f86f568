package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rootlessVariable is set in the process that is an ordinary user: the directory that holds everything of its podman.
const rootlessVariable = "TOOLCELL_TEST_ROOTLESS"

// The ordinary user: an id that nobody has, and subordinate ones.
const (
	ordinaryUser = 61234
	subordinate  = "toolcell:1000000:65536\n"
)

// asOrdinaryUser is a shell's, as PID 1 of a pid and a mount namespace of its own: it shows its processes and the user's
// entries in the files that newuidmap and podman read, where nobody else sees them, and becomes the user.
const asOrdinaryUser = `set -e
mount --make-rshared /
mount -t proc proc /proc
for f in passwd group subuid subgid; do mount --bind "$1/$f" "/etc/$f"; done
d=$1 u=$2; shift 2
exec setpriv --reuid "$u" --regid "$u" --clear-groups env HOME="$d/home" XDG_RUNTIME_DIR="$d/run" TMPDIR="$d/tmp" "$@"
`

// Rootless runs part in a process of an ordinary user who has a podman of its own, which ends, with every process that it
// started, when part does. The part gets a copy of the program that program returns, which root makes. t has to be a test at
// the top level.
func Rootless(t *testing.T, program func() string, part func(*testing.T, *Engine, string)) {
	skipUnlessSwitchedOn(t)
	client, err := rootlessPrograms()
	skip(t, err)
	require.NoError(t, err)
	if dir := os.Getenv(rootlessVariable); dir != "" {
		part(t, newRootless(client, dir), filepath.Join(dir, "program"))
		return
	}
	dir := rootlessDir(t)
	executable, err := os.Executable()
	require.NoError(t, err)
	self := filepath.Join(dir, "self.test")
	for to, from := range map[string]string{self: executable, filepath.Join(dir, "program"): program()} {
		require.NoError(t, build("", "install", "-m", "755", from, to))
	}
	cmd := exec.Command("/bin/sh", "-c", asOrdinaryUser, "sh", dir, fmt.Sprint(ordinaryUser),
		self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), rootlessVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	out, err := cmd.CombinedOutput()
	t.Logf("as uid %d:\n%s", ordinaryUser, out)
	require.NoError(t, err)
}

func rootlessPrograms() (string, error) {
	if os.Geteuid() != 0 && os.Getenv(rootlessVariable) == "" {
		return "", fmt.Errorf("podman of another user: set up by root alone: %w", errMissing)
	}
	for name, pkg := range map[string]string{"newuidmap": "uidmap", "runc": "runc", "setpriv": "util-linux"} {
		if _, err := find(name, pkg); err != nil {
			return "", err
		}
	}
	return find("podman", "podman")
}

// rootlessDir returns a directory with the user's files.
func rootlessDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "toolcell-rootless-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	id := fmt.Sprint(ordinaryUser)
	for name, line := range map[string]string{"passwd": "toolcell:x:" + id + ":" + id + "::" + dir + "/home:/bin/sh\n", "group": "toolcell:x:" + id + ":\n"} {
		b, err := os.ReadFile(filepath.Join("/etc", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), append(b, line...), 0o644))
	}
	for _, name := range []string{"subuid", "subgid"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(subordinate), 0o644))
	}
	for _, sub := range []string{"home", "run", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
		require.NoError(t, os.Chown(filepath.Join(dir, sub), ordinaryUser, ordinaryUser))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "containers.conf"),
		[]byte("[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n"), 0o644))
	return dir
}

func newRootless(client, dir string) *Engine {
	return &Engine{Kind: Podman, Binary: client, Dir: dir, Env: []string{"CONTAINERS_CONF=" + filepath.Join(dir, "containers.conf")}}
}
