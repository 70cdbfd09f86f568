package engines_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// scene is what thirty attempts aim at.
type scene struct {
	program            string
	readOnly, writable string
	args               []string // of the program, for unconfined
}

// newScene makes the files, the process and the listeners of the host that nothing inside may reach.
func newScene(t *testing.T) scene {
	t.Setenv("TOOLCELL_VERDICT_SECRET", "secret")
	s := scene{program: conformance.Build(t, "github.com/soulacy/toolcell/test/engines/verdict")}
	mark := fmt.Sprintf("mark-%d-%d", os.Getpid(), time.Now().UnixNano())
	s.readOnly, s.writable = publicDir(t), publicDir(t)
	require.NoError(t, os.Chown(s.writable, 65532, 65532))
	b, err := os.ReadFile(s.program)
	require.NoError(t, err)
	copied := filepath.Join(s.readOnly, "setuid")
	require.NoError(t, os.WriteFile(copied, b, 0o755))
	require.NoError(t, unix.Chmod(copied, 0o4755))
	secret := filepath.Join(publicDir(t), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(mark), 0o644))

	victim := exec.Command(s.program, "wait", mark)
	in, err := victim.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	t.Cleanup(func() { _ = in.Close(); _ = victim.Wait() })
	key := 0x70000000 | os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		assert.NoError(t, err)
	})
	_, port, err := net.SplitHostPort(listen(t, "tcp", "127.0.0.1:0"))
	require.NoError(t, err)
	listen(t, "unix", "@"+mark)
	s.args = []string{secret, mark, strconv.Itoa(victim.Process.Pid), port, mark, strconv.Itoa(key), s.readOnly, s.writable}
	return s
}

func publicDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "toolcell-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// listen has somebody listen until the end of the test, and returns the address.
func listen(t *testing.T, network, address string) string {
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close() // whoever connects is not kept waiting
		}
	}()
	return l.Addr().String()
}

// unconfined makes the attempts as root, where all of them have to be done.
func (s scene) unconfined(t *testing.T) string {
	cmd := exec.Command(s.program, append([]string{"all"}, s.args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// run makes some of them in a sandbox.
func (s scene) run(t *testing.T, b sandbox.Backend, which string) (sandbox.Result, error) {
	p := sandbox.ContainerProfile{PIDs: 40, TmpfsMB: 16, ShmMB: 16, Limits: sandbox.Limits{FileSizeMB: 8, Wall: 2 * time.Minute}}
	p.Binds = []sandbox.Mount{
		{Source: filepath.Dir(s.program), Target: "/program", Exec: true},
		{Source: s.readOnly, Target: "/ro", Exec: true},
		{Source: s.writable, Target: "/rw", Writable: true, Exec: true},
	}
	args := append([]string{"/program/verdict", which}, s.args[:6]...)
	return b.Run(t.Context(), p, sandbox.Command{Argv: append(args, "/ro", "/rw")})
}

// inside makes them and returns what the program prints.
func (s scene) inside(t *testing.T, b sandbox.Backend, which string) string {
	res, err := s.run(t, b, which)
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, "%s: %s", res.Status, res.Stderr)
	t.Logf("%s", res.Stderr)
	return string(res.Stdout)
}

// readmeRows are the rows of the README's table of attempts, by the heading of their column: as the program prints them.
func readmeRows(t *testing.T) map[string]string {
	b, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(b), "\n| attempt |")
	require.True(t, ok, "the README has the table of attempts")
	table, _, _ = strings.Cut("| attempt |"+table, "\n\n")
	lines := strings.Split(table, "\n")
	columns := map[string]string{}
	heads := cells(lines[0])
	for _, line := range lines[2:] {
		row := cells(line)
		require.Len(t, row, len(heads), "%s", line)
		for i := 1; i < len(row); i++ {
			columns[heads[i]] += row[0] + "\t" + row[i] + "\n"
		}
	}
	return columns
}

func cells(line string) []string {
	var out []string
	for c := range strings.SplitSeq(strings.Trim(line, "| "), "|") {
		out = append(out, strings.TrimSpace(c))
	}
	return out
}

// The same thirty attempts come to the same on every backend, and to what the README says.
func TestVerdicts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("most attempts succeed for root alone, where nothing stops them")
	}
	s := newScene(t)
	control := s.unconfined(t)
	assert.Equal(t, 30, strings.Count(control, "\tdone\n"), "unconfined every attempt is done:\n%s", control)
	readme := readmeRows(t)
	t.Run("native", func(t *testing.T) {
		b, err := backends.OpenBackend(t.Context(), native.Name, backends.Config{Native: native.Config{Spawner: conformance.Build(t, "github.com/soulacy/toolcell/cmd/toolcell-init")}})
		require.NoError(t, err)
		defer func() { assert.NoError(t, b.Close()) }()
		assert.Equal(t, readme["native"], s.inside(t, b, "all"))
	})
	on(t, func(t *testing.T, e *engines.Engine) {
		assert.Equal(t, readme[string(e.Kind)], s.inside(t, open(t, e), "all"))
	}, kinds...)
	t.Run("runsc", func(t *testing.T) {
		e := pool.Start(t, engines.Docker)
		e.RequireRunsc(t)
		b := openWith(t, e, docker.Config{Image: e.Load(t, engines.Busybox()), Helper: conformance.Build(t, helperPackage), Runtime: engines.RunscRuntime})
		// Where its own threads count, too many processes are the end of gVisor's kernel.
		const ends = "start more processes than allowed"
		res, err := s.run(t, b, ends)
		assert.True(t, err != nil || res.ExitCode != 0, "%+v", res)
		want := strings.ReplaceAll(readme["runsc"], ends+"\tends the sandbox\n", "")
		assert.Equal(t, want, s.inside(t, b, "all but "+ends))
	})
}
