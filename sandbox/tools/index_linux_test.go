package tools_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// onHost runs commands on this host, to try command lines against the real managers. It is for these tests alone.
type onHost struct{ fake.Backend }

func (*onHost) Run(ctx context.Context, _ sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, append(os.Environ(), c.Env...), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return sandbox.Result{}, err
	}
	return sandbox.Result{
		Status: sandbox.StatusExited, ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.Bytes(),
	}, nil
}

// The command lines do what they say, with the real managers against an index on this host. What an earlier call left in the
// workspace, without a network, does not run in one that has one.
func TestInstallLibraryLocalIndex(t *testing.T) {
	s := httptest.NewServer(index(t))
	defer s.Close()
	t.Setenv("PIP_INDEX_URL", s.URL+"/simple")
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("npm_config_registry", s.URL)
	t.Setenv("npm_config_userconfig", os.DevNull)
	b := &onHost{}
	ts := set(t, b)
	ts.Chooser = choose(func(tools.Request) (tools.Place, error) { return tools.Place{Backend: b, OnHost: true}, nil })
	mark := filepath.Join(realTemp(t), "mark")
	plant(t, ts, mark)
	for manager, file := range map[string]string{"pip": "tiny.py", "npm": "node_modules/tiny/index.js"} {
		t.Run(manager, func(t *testing.T) {
			needs(t, map[string][]string{"pip": {"python3", "-m", "pip"}, "npm": {"npm"}}[manager])
			o, err := ts.InstallLibrary(t.Context(), tools.InstallArgs{Manager: manager, Package: "tiny", Version: "1.0.0", Target: manager})
			require.NoError(t, err)
			require.Equal(t, 0, o.Result.ExitCode, o.Text())
			assert.Equal(t, "X = 1\n", read(t, filepath.Join(ts.Workspace, manager, file)))
			assert.Contains(t, o.Text(), "tiny was installed in ")
			assert.NoFileExists(t, mark)
			there := map[string][]string{"pip": {"python3", "-m", "pip"}, "npm": {"npm", "install", "--prefix", "npm", "--", "tiny"}}[manager]
			c, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: there, Dir: ts.Workspace})
			require.NoError(t, err)
			assert.FileExists(t, mark, "started there, it runs: %s%s", c.Stdout, c.Stderr)
			require.NoError(t, os.RemoveAll(mark))
		})
	}
	_, err := ts.InstallLibrary(t.Context(), tools.InstallArgs{Manager: "pip", Package: "tiny"})
	assert.ErrorIs(t, err, sandbox.ErrInvalid, "on the host there is no scratch of one call")
}

// plant leaves in the workspace what runs, or is obeyed, by a manager that is started there, and makes mark.
func plant(t *testing.T, ts tools.Tools, mark string) {
	t.Helper()
	for file, text := range map[string]string{
		"pip.py":            fmt.Sprintf("open(%q, 'w')", mark),
		"npm/package.json":  `{"dependencies":{"evil":"file:../evil"}}`,
		"evil/package.json": fmt.Sprintf(`{"name":"evil","version":"1.0.0","scripts":{"postinstall":"touch %s"}}`, mark),
	} {
		put(t, ts.Workspace, file, text)
	}
}

// needs skips, or under TOOLCELL_TEST_REQUIRE=1 fails, where a manager is not installed.
func needs(t *testing.T, argv []string) {
	t.Helper()
	err := exec.Command(argv[0], append(argv[1:], "--version")...).Run()
	if err != nil && os.Getenv("TOOLCELL_TEST_REQUIRE") != "1" {
		t.Skipf("%v is not installed here: %v", argv, err)
	}
	require.NoError(t, err, "%v is not installed here", argv)
}

// index serves one package, "tiny", as a Python index and as an npm registry.
func index(t *testing.T) http.Handler {
	wheel, tarball := wheel(t), npmTarball(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/tiny/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!DOCTYPE html><a href="/files/tiny-1.0.0-py3-none-any.whl">tiny-1.0.0-py3-none-any.whl</a>`)
	})
	mux.HandleFunc("/files/tiny-1.0.0-py3-none-any.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel) })
	mux.HandleFunc("/tiny", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0",
			"dist":{"tarball":"http://%s/files/tiny.tgz"}}}}`, r.Host)
	})
	mux.HandleFunc("/files/tiny.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tarball) })
	return mux
}

func wheel(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"tiny.py", "X = 1\n"},
		{"tiny-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0.0\n"},
		{"tiny-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"tiny-1.0.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.0.dist-info/METADATA,,\ntiny-1.0.0.dist-info/WHEEL,,\ntiny-1.0.0.dist-info/RECORD,,\n"},
	} {
		w, err := z.Create(f[0])
		require.NoError(t, err)
		_, err = w.Write([]byte(f[1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func npmTarball(t *testing.T) []byte {
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, f := range [][2]string{{"package/package.json", `{"name":"tiny","version":"1.0.0"}`}, {"package/index.js", "X = 1\n"}} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))}))
		_, err := w.Write([]byte(f[1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, g.Close())
	return b.Bytes()
}
