package scripts_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

const python = "/usr/bin/python3"

// byIntent are CPython's own tests that cannot pass in a sandbox, each with the guarantee that forbids what they do.
var byIntent = []struct {
	test *regexp.Regexp
	why  sandbox.Guarantee
}{
	// They make a program in the scratch and look for it among what can be run, or run it.
	{regexp.MustCompile(`^test_shutil\.TestWhich(Bytes)?\.`), sandbox.FSNoexecScratch},
	{regexp.MustCompile(`^test_subprocess\.\w+\.test_(call|args)_string$`), sandbox.FSNoexecScratch},
	// They become another user or group, and there is one.
	{regexp.MustCompile(`^test_subprocess\.\w+\.test_(user|group)$`), sandbox.PrivNonroot},
	{regexp.MustCompile(`^test_os\.ChownFileTests\.test_chown_without_permission$`), sandbox.PrivNonroot},
}

// Debian's copy of CPython's test suite fails inside in nothing that does not fail outside, save what is forbidden by
// intent. The whole list takes many minutes and runs with TOOLCELL_TEST_LONG=1.
func TestPython(t *testing.T) {
	requireNative(t)
	if out, err := exec.Command(python, "-c", "import test.test_json").CombinedOutput(); err != nil {
		require.NotEqual(t, "1", os.Getenv("TOOLCELL_TEST_REQUIRE"), "libpython3-testsuite is missing: %s", out)
		t.Skip("libpython3-testsuite is missing")
	}
	modules := []string{"test_json", "test_tempfile", "test_shutil"}
	if os.Getenv("TOOLCELL_TEST_LONG") == "1" {
		modules = append(modules, "test_re", "test_sqlite3", "test_subprocess", "test_threading",
			"test_multiprocessing_fork", "test_asyncio", "test_zipfile", "test_socket", "test_ssl", "test_os")
	}
	for _, m := range modules {
		t.Run(m, func(t *testing.T) { comparePython(t, m) })
	}
}

// comparePython runs one module inside, and outside only if something failed that is not on the list.
func comparePython(t *testing.T, module string) {
	inside, ok := runPython(t, append([]string{
		toolcell(), "run", "--timeout", "10m", "--cpu-time", "10m", "--pids-limit", "512", "--memory", "2g",
		"--ulimit", "nofile=1024", "--ulimit", "fsize=1073741824", "--tmpfs", "/tmp:size=512m", "--output-limit", "16m", "host",
	}, pythonModule(module)...))
	unexpected := map[string]bool{}
	for name := range inside {
		if why := intent(name); why != "" {
			t.Logf("%s: %s", name, why)
			continue
		}
		unexpected[name] = true
	}
	if len(unexpected) == 0 && (ok || len(inside) > 0) {
		return
	}
	outside, outsideOK := runPython(t, pythonModule(module))
	assert.Equal(t, outsideOK, ok || len(unexpected) == 0 && len(inside) > 0, "%s as a whole", module)
	for name := range unexpected {
		assert.Contains(t, outside, name, "it fails inside and not outside")
	}
}

func pythonModule(module string) []string { return []string{python, "-m", "test", "-v", module} }

func intent(name string) sandbox.Guarantee {
	for _, b := range byIntent {
		if b.test.MatchString(name) {
			return b.why
		}
	}
	return ""
}

// runPython returns the tests that failed, as module.Class.test, and whether the run as a whole succeeded.
func runPython(t *testing.T, argv []string) (failed map[string]bool, ok bool) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &out
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	failed = map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:FAIL|ERROR): \S+ \(test\.([\w.]+)\)`).FindAllSubmatch(out.Bytes(), -1) {
		failed[string(m[1])] = true
	}
	require.Regexp(t, `Ran \d+ tests|No module named`, out.String())
	return failed, err == nil
}
