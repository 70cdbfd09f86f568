//go:build linux || darwin

package host

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// The test binary is its own supervisor, as a gateway is.
func TestMain(m *testing.M) {
	Main()
	if len(os.Args) == 2 && os.Args[1] == becomesRoot {
		becomeRoot()
	}
	os.Exit(m.Run())
}

func open(t *testing.T, mode Mode) *Backend {
	t.Helper()
	b, err := Open(Config{Mode: mode})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// run runs one command under limits.
func run(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) sandbox.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := open(t, Limits).Run(ctx, p, c)
	require.NoError(t, err)
	return r
}

func sh(script string, args ...string) sandbox.Command {
	return sandbox.Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...)}
}

// python returns an interpreter without its shim, or skips.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	r := run(t, sandbox.ContainerProfile{}, sh(`python3 -S -c 'import sys; print(sys.executable, end="")'`))
	if r.Status != sandbox.StatusExited || r.ExitCode != 0 {
		if os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
			t.Fatal("no python3 here")
		}
		t.Skip("no python3 here")
	}
	return string(r.Stdout)
}
