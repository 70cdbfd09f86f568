package seccomp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The tests that load a filter do so in a copy of the test binary, the victim: a filter cannot be taken off again.
const victimArg = "seccomp-victim"

// How a victim is confined.
const (
	unconfined = "unconfined"
	strict     = "default"
	withWatch  = "inotify"
	foreign    = "foreign" // the program of the other architecture
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == victimArg {
		if err := victim(os.Args[2], os.Args[3], os.Args[4:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// victim confines itself and does a job: "try" the attempts on standard input, "exec" a program, report the "threads",
// or try to load a filter "twice".
func victim(confinement, job string, args []string) error {
	if job == "twice" {
		return loadBesideAnotherFilter()
	}
	var stop func()
	if job == "threads" {
		stop = startThreads(8)
		defer stop()
	}
	if err := confine(confinement); err != nil {
		return err
	}
	switch job {
	case "try":
		return try()
	case "threads":
		return reportThreads()
	default:
		path, err := exec.LookPath(args[0])
		if err != nil {
			return err
		}
		return unix.Exec(path, args, os.Environ())
	}
}

// confine loads the filter that a confinement means.
func confine(confinement string) error {
	if confinement == unconfined {
		return nil
	}
	goarch := runtime.GOARCH
	if confinement == foreign {
		goarch = map[string]string{"amd64": "arm64", "arm64": "amd64"}[goarch]
	}
	program, err := Program(goarch, Options{Inotify: confinement == withWatch})
	if err != nil {
		return err
	}
	return Load(program)
}

// attempt is one system call by its raw number.
type attempt struct {
	Name string
	Nr   uintptr
	Args [6]uintptr
}

// try answers the attempts on standard input with one errno each.
func try() error {
	var attempts []attempt
	if err := json.NewDecoder(os.Stdin).Decode(&attempts); err != nil {
		return err
	}
	results := make([]syscall.Errno, len(attempts))
	for i, a := range attempts {
		_, _, results[i] = syscall.RawSyscall6(a.Nr, a.Args[0], a.Args[1], a.Args[2], a.Args[3], a.Args[4], a.Args[5])
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

// startThreads keeps n operating system threads busy waiting until stop is called.
func startThreads(n int) (stop func()) {
	started, end := make(chan bool), make(chan bool)
	for range n {
		go func() {
			runtime.LockOSThread()
			started <- true
			<-end
		}()
		<-started
	}
	return func() { close(end) }
}

// reportThreads writes the seccomp mode and no_new_privs of every thread, one thread a line.
func reportThreads() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err != nil {
			return err
		}
		var fields []string
		for l := range strings.Lines(string(status)) {
			if strings.HasPrefix(l, "NoNewPrivs:") || strings.HasPrefix(l, "Seccomp:") {
				fields = append(fields, strings.Join(strings.Fields(l), ""))
			}
		}
		fmt.Println(strings.Join(fields, " "))
	}
	return nil
}

// loadBesideAnotherFilter succeeds when Load fails because one thread went its own way before.
func loadBesideAnotherFilter() error {
	program, err := Program(runtime.GOARCH, Options{})
	if err != nil {
		return err
	}
	done, end := make(chan error), make(chan bool)
	defer close(end)
	go func() {
		runtime.LockOSThread()
		done <- loadOnThisThread(program)
		<-end
	}()
	if err := <-done; err != nil {
		return err
	}
	if err := Load(program); err == nil {
		return fmt.Errorf("load succeeded on a process with a thread that has another filter")
	}
	return nil
}

// victimCommand starts a victim in a session of its own, so that vhangup and the like have no terminal to reach.
func victimCommand(t *testing.T, confinement, job string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, slices.Concat([]string{victimArg, confinement, job}, args)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// results has a victim make the attempts.
func results(t *testing.T, confinement string, attempts []attempt) []syscall.Errno {
	t.Helper()
	in, err := json.Marshal(attempts)
	require.NoError(t, err)
	cmd := victimCommand(t, confinement, "try")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(in)), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var errnos []syscall.Errno
	require.NoError(t, json.Unmarshal(out, &errnos))
	require.Len(t, errnos, len(attempts))
	return errnos
}

// signalOf is the signal that ended a victim.
func signalOf(t *testing.T, cmd *exec.Cmd) syscall.Signal {
	t.Helper()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled(), "exit status %d", status.ExitStatus())
	return status.Signal()
}

// missing skips a test that this machine cannot run, or fails it where the environment says that nothing may be
// missing.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
		t.Fatalf("missing: %s", what)
	}
	t.Skipf("missing: %s", what)
}
