package cpython_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
)

func TestMain(m *testing.M) {
	spawner.Main()
	os.Exit(m.Run())
}

const (
	python = "/usr/bin/python3"
	// outsider runs the tests outside when root runs this test.
	outsider  = 64123
	openFiles = 1024
	patience  = 30 * time.Minute
)

// modules are what is run: the first part always, the rest in the long form.
func modules() []string {
	short := []string{"test_json", "test_re", "test_tempfile", "test_zipfile"}
	if os.Getenv("TOOLCELL_TEST_SOAK") != "full" {
		return short
	}
	return append(short, "test_subprocess", "test_threading", "test_multiprocessing_fork", "test_asyncio", "test_shutil", "test_socket", "test_ssl", "test_os")
}

// outcome is what became of one test. They are ordered: of several with one name the worst counts.
type outcome int

const (
	missing outcome = iota
	passed
	skipped
	failed
)

func (o outcome) String() string { return [...]string{"missing", "passed", "skipped", "failed"}[o] }

// report is regrtest's file in JUnit's format.
type report struct {
	Cases []struct {
		Name    string  `xml:"name,attr"`
		Failure *detail `xml:"failure"`
		Error   *detail `xml:"error"`
		Skipped *string `xml:"skipped"`
	} `xml:"testsuite>testcase"`
}

type detail struct {
	Message string `xml:"message,attr"`
}

// outcomes holds every test's, with the message of a failure.
type outcomes struct {
	of      map[string]outcome
	message map[string]string
}

// parse reads a report. A subtest has no name of its own there, and its test then none at all: it is missing.
func parse(data []byte) (outcomes, error) {
	out := outcomes{of: map[string]outcome{}, message: map[string]string{}}
	var r report
	if err := xml.Unmarshal(data, &r); err != nil {
		return out, err
	}
	for _, c := range r.Cases {
		if c.Name == "" {
			continue
		}
		o := passed
		for _, d := range []*detail{c.Failure, c.Error} {
			if d != nil {
				o, out.message[c.Name] = failed, strings.TrimSpace(d.Message)
			}
		}
		if c.Skipped != nil {
			o, out.message[c.Name] = max(o, skipped), *c.Skipped
		}
		out.of[c.Name] = max(out.of[c.Name], o)
	}
	return out, nil
}

func (o outcomes) count(which outcome) int {
	n := 0
	for _, got := range o.of {
		if got == which {
			n++
		}
	}
	return n
}

// side runs tests in one of the two places and returns the report. The arguments are regrtest's.
type side func(t *testing.T, args ...string) outcomes

// TestSoakCPython: whatever passes outside passes inside, but for what is explained.
func TestSoakCPython(t *testing.T) {
	requireSuite(t)
	b := open(t)
	inside := func(t *testing.T, args ...string) outcomes { return runInside(t, b, args...) }
	var out, in outcomes
	var both sync.WaitGroup
	begin := time.Now()
	both.Go(func() { out = runOutside(t, modules()...) })
	both.Go(func() { in = inside(t, modules()...) })
	both.Wait()
	for name, o := range map[string]outcomes{"outside": out, "inside": in} {
		t.Logf("%s: %d passed, %d skipped, %d failed", name, o.count(passed), o.count(skipped), o.count(failed))
	}
	t.Logf("both took %s", time.Since(begin).Round(time.Second))
	for _, m := range modules() {
		ran := 0
		for id, o := range out.of {
			if strings.HasPrefix(id, "test."+m+".") && o == passed {
				ran++
			}
		}
		require.NotZero(t, ran, "nothing of %s passes outside, so nothing is compared", m)
	}
	compare(t, out, in, inside)
}

// compare judges every test that passes outside.
func compare(t *testing.T, out, in outcomes, again side) {
	t.Helper()
	seen := make([]int, len(differences()))
	ids := make([]string, 0, len(out.of))
	for id := range out.of {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if out.of[id] != passed || in.of[id] == passed {
			continue
		}
		if i := explanation(id); i >= 0 {
			seen[i]++
			continue
		}
		got, message := in.of[id], in.message[id]
		if got != skipped && passesAgain(t, id, again) {
			t.Logf("%s %s at first and passed alone: %s", id, got, message)
			continue
		}
		assert.Fail(t, "a difference that nothing explains", "%s passes outside and is %s inside: %s", id, got, message)
	}
	for i, d := range differences() {
		if seen[i] == 0 && concerns(d) {
			assert.Fail(t, "an explanation of nothing", "%s: nothing that it matches fails inside any more", d.tests)
		}
		t.Logf("%d times %s, since %s", seen[i], d.guarantee, d.why)
	}
}

// explanation is the index of the difference that id is, or -1.
func explanation(id string) int {
	return slices.IndexFunc(differences(), func(d explained) bool {
		return regexp.MustCompile("^(" + d.tests + ")$").MatchString(id)
	})
}

// concerns reports whether a difference is about a module that was run.
func concerns(d explained) bool {
	return slices.ContainsFunc(modules(), func(m string) bool { return strings.HasPrefix(d.tests, `test\.`+m+`\.`) })
}

// passesAgain tries a test alone, since a busy machine makes some of them fail.
func passesAgain(t *testing.T, id string, again side) bool {
	t.Helper()
	module := strings.Split(id, ".")[1]
	for range 2 {
		if again(t, module, "-m", id).of[id] == passed {
			return true
		}
	}
	return false
}

// requireSuite skips without the test suite.
func requireSuite(t *testing.T) {
	t.Helper()
	out, err := exec.Command(python, "-c", "import test.libregrtest, test.test_json, test.test_asyncio").CombinedOutput()
	if err == nil {
		return
	}
	why := "CPython's tests are not installed (Debian: libpython3.11-testsuite): " + string(out)
	if os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
		require.Fail(t, "a test may not be skipped here", "%s", why)
	}
	t.Skip(why)
}

func open(t *testing.T) sandbox.Backend {
	t.Helper()
	var c native.Config
	if os.Geteuid() != 0 {
		for _, g := range []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU} {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	b, err := native.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// environment is the same on both sides but for the directories.
func environment(dirs ...string) []string {
	return append(dirs, "PATH=/usr/bin:/bin", "LANG=C.UTF-8")
}

// arguments are the whole command line. A report is written even when tests fail.
func arguments(xmlFile string, args []string) []string {
	return append([]string{python, "-m", "test", "--junit-xml", xmlFile}, args...)
}

// roomy is a profile with room for the tests, and the directory of the host that takes the report.
func roomy(t *testing.T) (sandbox.ContainerProfile, string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	return sandbox.ContainerProfile{
		Limits: sandbox.Limits{MemoryMB: 2048, CPUs: 2, CPUSeconds: 1200, Wall: patience, OpenFiles: openFiles, FileSizeMB: 1024},
		PIDs:   512, TmpfsMB: 512,
		Binds: []sandbox.Mount{{Source: dir, Target: "/report", Writable: true}},
	}, dir
}

// runInside runs tests in a sandbox with room for them.
func runInside(t *testing.T, b sandbox.Backend, args ...string) outcomes {
	t.Helper()
	p, dir := roomy(t)
	r, err := b.Run(t.Context(), p, sandbox.Command{Argv: arguments("/report/junit.xml", args), Env: environment()})
	if !assert.NoError(t, err) {
		return outcomes{}
	}
	if !assert.Equal(t, sandbox.StatusExited, r.Status, "hints %q, output %s", r.Hints, r.Stdout) {
		return outcomes{}
	}
	return read(t, dir, r.Stdout)
}

// runOutside runs them as an ordinary user with a loopback of its own, the same limit of open files and no input.
func runOutside(t *testing.T, args ...string) outcomes {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcell-cpython-")
	if !assert.NoError(t, err) {
		return outcomes{}
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// The shell sets what the sandbox sets by itself.
	script := `umask 022; ulimit -n "$1"; shift; exec "$@"`
	argv := append([]string{"-c", script, "sh", "1024"}, arguments(filepath.Join(dir, "junit.xml"), args)...)
	cmd := exec.CommandContext(ctx, "sh", argv...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = environment("HOME="+filepath.Join(dir, "home"), "TMPDIR="+filepath.Join(dir, "tmp"))
	cmd.Dir = filepath.Join(dir, "tmp")
	for _, d := range []string{dir, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
		if err := prepare(d); !assert.NoError(t, err) {
			return outcomes{}
		}
	}
	if err := start(cmd); !assert.NoError(t, err) {
		return outcomes{}
	}
	_ = cmd.Wait() // a test that fails is an exit code; the report says which
	return read(t, dir, log.Bytes())
}

// prepare makes a directory of the outsider's.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(dir, outsider, outsider)
}

// start starts cmd, for root as the outsider in a network namespace of its own. The thread that made the namespace is not
// used again.
func start(cmd *exec.Cmd) error {
	if os.Geteuid() != 0 {
		return cmd.Start()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: outsider, Gid: outsider}}
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = loopbackUp()
		}
		if err == nil {
			err = cmd.Start()
		}
		result <- err
	}()
	return <-result
}

// loopbackUp switches on the only interface of a new network namespace (netdevice(7)).
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	var request [40]byte
	copy(request[:], "lo")
	request[16] = unix.IFF_UP
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return errno
	}
	return nil
}

func read(t *testing.T, dir string, log []byte) outcomes {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if !assert.NoError(t, err, "no report: %s", log) {
		return outcomes{}
	}
	o, err := parse(data)
	assert.NoError(t, err)
	return o
}
