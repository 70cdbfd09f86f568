package scripts_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// bin is the directory that holds the toolcell under test. TestMain sets it once.
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
	if bin, err = os.MkdirTemp("", "toolcell-scripts-"); err != nil {
		return err
	}
	if err := os.Chmod(bin, 0o755); err != nil { // scripts run it as another user, too
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

// requireNative skips, or under TOOLCELL_TEST_REQUIRE=1 fails, where the native backend cannot enforce the profile.
func requireNative(t *testing.T) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(toolcell(), "version")
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if runtime.GOOS == "linux" && os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
			require.NoError(t, err, stderr.String())
		}
		t.Skip("the native backend cannot enforce the profile here: " + stderr.String())
	}
}

func TestScripts(t *testing.T) {
	requireNative(t)
	demo, err := filepath.Abs("../../cmd/toolcell/demo")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("BIN", bin)
			env.Setenv("DEMO", demo)
			return nil
		},
		Condition:          condition,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"status": status, "refused": refused, "json": jsonField},
		RequireUniqueNames: true,
	})
}

// condition knows [root]. What is a feature of the machine fails instead under TOOLCELL_TEST_REQUIRE=1.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Getuid() == 0, nil
	default:
		return false, fmt.Errorf("unknown condition %q", name)
	}
}

// status runs toolcell and checks its exact exit code: status N ARGS...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts, args[1:]); got != want {
		ts.Fatalf("toolcell %q: exit status %d, want %d", args[1:], got, want)
	}
}

// refused runs `toolcell run` and checks that nothing ran: exit code 125, nothing on stdout, and one line on stderr that
// matches: refused REGEXP ARGS...
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: refused REGEXP ARGS...")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	got := exitCode(ts, append([]string{"run"}, args[1:]...))
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	line, rest, _ := strings.Cut(stderr, "\n")
	switch {
	case got != 125:
		ts.Fatalf("exit status %d, want 125", got)
	case stdout != "":
		ts.Fatalf("something on stdout: %q", stdout)
	case rest != "" || !strings.HasPrefix(line, "toolcell: "):
		ts.Fatalf("not one line: %q", stderr)
	case !re.MatchString(line):
		ts.Fatalf("%q does not match %s", line, re)
	}
}

func exitCode(ts *testscript.TestScript, args []string) int {
	err := ts.Exec("toolcell", args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}
