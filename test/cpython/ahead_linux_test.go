package cpython_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// aheadModules are those that look at the interpreter they run in.
func aheadModules() []string {
	return []string{
		"test_atexit", "test_audit", "test_builtin", "test_code", "test_codecs", "test_exceptions", "test_faulthandler", "test_gc",
		"test_hash", "test_import", "test_inspect", "test_io", "test_json", "test_linecache", "test_locale", "test_logging",
		"test_module", "test_os", "test_pdb", "test_pickle", "test_posix", "test_re", "test_runpy", "test_signal", "test_site",
		"test_subprocess", "test_sys", "test_tempfile", "test_threading", "test_time", "test_traceback", "test_tracemalloc",
		"test_utf8_mode", "test_warnings", "test_weakref",
	}
}

// TestSoakCPythonAhead: whatever passes in a fresh interpreter passes in one that was started ahead of its call.
func TestSoakCPythonAhead(t *testing.T) {
	if os.Getenv("TOOLCELL_TEST_SOAK") != "full" {
		t.Skip("the long form of test/interpreters: make soak")
	}
	requireSuite(t)
	b := open(t)
	fresh := runRegrtest(t, b, false, aheadModules()...)
	ahead := runRegrtest(t, b, true, aheadModules()...)
	require.Greater(t, fresh.count(passed), 1000, "nothing is compared")
	t.Logf("fresh: %d passed, %d skipped, %d failed", fresh.count(passed), fresh.count(skipped), fresh.count(failed))
	t.Logf("ahead: %d passed, %d skipped, %d failed", ahead.count(passed), ahead.count(skipped), ahead.count(failed))
	again := func(t *testing.T, args ...string) outcomes { return runRegrtest(t, b, true, args...) }
	for id, o := range fresh.of {
		if o == passed && ahead.of[id] != passed && !passesAgain(t, id, again) {
			assert.Fail(t, "a difference", "%s passes in a fresh interpreter and is %s in one started ahead: %s", id, ahead.of[id], ahead.message[id])
		}
	}
}

// runRegrtest runs tests in a sandbox, in one interpreter from the start to the end.
func runRegrtest(t *testing.T, b sandbox.Backend, ahead bool, args ...string) outcomes {
	t.Helper()
	p, dir := roomy(t)
	c := sandbox.Command{Env: environment()}
	c.Argv = slices.Concat([]string{python, "-c", "from test.libregrtest import main; main()", "--junit-xml", "/report/junit.xml"}, args)
	served := b.(*native.Backend).ArmedStats().Served
	if ahead {
		require.NoError(t, b.(sandbox.Armer).Arm(t.Context(), p, sandbox.Arming{Count: 1, Once: true, Like: c, Interpreter: sandbox.InterpreterPython}))
	}
	r, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	require.Equal(t, sandbox.StatusExited, r.Status, "hints %q, output %s", r.Hints, r.Stdout)
	require.Equal(t, ahead, b.(*native.Backend).ArmedStats().Served > served)
	return read(t, dir, r.Stdout)
}
