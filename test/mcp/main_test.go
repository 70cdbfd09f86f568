package mcp_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// bin is the directory that holds the programs under test. TestMain sets it once.
var bin string

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// build makes the static programs that are shipped.
func build() (err error) {
	if bin, err = os.MkdirTemp("", "toolcell-test-mcp-"); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", bin, "../../cmd/toolcell", "../../cmd/toolcell-mcp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build toolcell: %w\n%s", err, out)
	}
	return nil
}

func toolcell() string { return filepath.Join(bin, "toolcell") }

// required reports whether what a machine lacks fails a test.
func required() bool { return os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" }

// requireNative skips, or under TOOLCELL_TEST_REQUIRE=1 fails, where the native backend cannot enforce the profile.
func requireNative(t *testing.T) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(toolcell(), "version")
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if runtime.GOOS == "linux" && required() {
			require.NoError(t, err, stderr.String())
		}
		t.Skip("the native backend cannot enforce the profile here: " + stderr.String())
	}
}
