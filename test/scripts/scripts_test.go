package scripts_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/shipped"
)

// programs are the command and the server beside it.
var programs shipped.Programs

func TestMain(m *testing.M) {
	os.Exit(programs.Main(m, "cmd/toolcell", "cmd/toolcell-mcp"))
}

func TestScripts(t *testing.T) {
	programs.RequireNative(t)
	demo, err := filepath.Abs("../../cmd/toolcell/demo")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", programs.SearchPath())
			env.Setenv("BIN", programs.Dir())
			env.Setenv("DEMO", demo)
			return nil
		},
		Condition:          condition,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"status": status, "refused": refused, "json": jsonField},
		RequireUniqueNames: true,
	})
}

// condition knows [root].
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
