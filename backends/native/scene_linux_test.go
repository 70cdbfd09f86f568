package native_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// sceneVariable names the file that holds a helper's scene; the helper's verdict goes beside it.
const sceneVariable = "TOOLCELL_TEST_SCENE"

// user is the ordinary user of the tests; no account of this machine.
const user = 64123

// scene is one helper process: what it does to itself, then one backend and one call.
type scene struct {
	// Early are the obstacles of the privileged helper, Late those of the process that makes the call.
	Early, Late []string
	// Script is a shell script that the privileged helper runs after the early obstacles, in a mount namespace of its own.
	Script string
	// OneID leaves the helper's own user namespace with root alone.
	OneID bool
	// User is who makes the call; 0 is root.
	User int
	// Spawner, StateDir and Waived are the backend's configuration.
	Spawner, StateDir string
	Waived            []sandbox.Guarantee
	// Start bounds the backend's start. 0 does not.
	Start time.Duration
	// Profile and Argv are the call.
	Profile sandbox.ContainerProfile
	Argv    []string
	// Before is how many calls come before it, with a moment after each. Ahead is NamespacesAhead of the configuration.
	Before int
	Ahead  bool

	// SwapDir and SwapCalls make it a race with swapped sources instead of one call.
	SwapDir   string
	SwapCalls int

	// Applied says that the early obstacles are behind.
	Applied bool
}

// verdict is what became of it.
type verdict struct {
	// Stage is where an error came from: "open" or "run"; "" without one.
	Stage string
	// Kind, Op, Guarantee, Cause and Fix are the error's. Untyped is one of no known kind.
	Kind                  sandbox.Kind
	Op                    string
	Guarantee             sandbox.Guarantee
	Cause, Fix, Untyped   string
	Errno                 syscall.Errno
	Status                sandbox.Status
	ExitCode              int
	Stdout, Stderr        string
	Report                sandbox.Report
	Children, Descriptors int
	// Open lists what is open when it is more than before.
	Open []string
	// Swaps is what came of a race.
	Swaps swaps
}

// act plays the scene of the file at path and never returns.
func act(path string) {
	data, err := os.ReadFile(path)
	var s scene
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && !s.Applied {
		err = s.early(path) // does not return unless it fails
	}
	if err == nil {
		err = s.late()
	}
	if err != nil {
		_ = os.WriteFile(path+".broken", []byte(err.Error()), 0o666)
		os.Exit(3)
	}
	v := s.play()
	data, err = json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path+".verdict", data, 0o666)
	}
	if err != nil {
		_ = os.WriteFile(path+".broken", []byte(err.Error()), 0o666)
	}
	os.Exit(0)
}

// early applies what needs privileges, becomes the user and executes this program again: a process that changed its ids
// is another than one that was started with them.
func (s *scene) early(path string) error {
	env := os.Environ()
	for _, name := range s.Early {
		if err := obstacles()[name](); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.Script != "" {
		if err := runScript(s.Script); err != nil {
			return err
		}
	}
	s.Applied = true
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		return err
	}
	if s.User != 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return err
		}
		if err := syscall.Setresgid(s.User, s.User, s.User); err != nil {
			return err
		}
		if err := syscall.Setresuid(s.User, s.User, s.User); err != nil {
			return err
		}
	}
	return syscall.Exec("/proc/self/exe", os.Args, env)
}

func runScript(script string) error {
	if err := privateMounts(); err != nil {
		return err
	}
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (s *scene) late() error {
	for _, name := range s.Late {
		if err := obstacles()[name](); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (s *scene) play() verdict {
	before := descriptors()
	var v verdict
	if s.SwapCalls > 0 {
		v.Swaps = swap(s.SwapDir, s.SwapCalls)
		return v
	}
	config := native.Config{Spawner: s.Spawner, StateDir: s.StateDir, NamespacesAhead: s.Ahead}
	for _, g := range s.Waived {
		config.Waivers = append(config.Waivers, sandbox.Waiver{Guarantee: g, Reason: "a test"})
	}
	ctx := context.Background()
	if s.Start > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Start)
		defer cancel()
	}
	b, err := native.Open(ctx, config)
	if err != nil {
		v.fail("open", err)
	} else {
		s.call(b, &v)
		if err := b.Close(); err != nil {
			v.fail("close", err)
		}
	}
	v.Descriptors = settled(func() int { return descriptors() - before })
	v.Children = settled(children)
	if v.Descriptors > 0 {
		v.Open = openFiles()
	}
	return v
}

func (s *scene) call(b sandbox.Backend, v *verdict) {
	v.Report, _ = b.Ready(context.Background(), s.Profile)
	for range s.Before {
		if _, err := b.Run(context.Background(), s.Profile, sandbox.Command{Argv: s.Argv}); err != nil {
			v.fail("before", err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	r, err := b.Run(context.Background(), s.Profile, sandbox.Command{Argv: s.Argv})
	if err != nil {
		v.fail("run", err)
		return
	}
	v.Status, v.ExitCode, v.Stdout, v.Stderr = r.Status, r.ExitCode, string(r.Stdout), string(r.Stderr)
}

func (v *verdict) fail(stage string, err error) {
	v.Stage = stage
	var typed *sandbox.Error
	if !errors.As(err, &typed) {
		v.Untyped = err.Error()
		return
	}
	v.Kind, v.Op, v.Guarantee, v.Fix = typed.Kind, typed.Op, typed.Guarantee, typed.Fix
	if typed.Cause != nil {
		v.Cause = typed.Cause.Error()
	}
	_ = errors.As(err, &v.Errno)
}

// settled gives what is being closed in the background a moment to be gone.
func settled(count func() int) int {
	for range 100 {
		if count() <= 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return count()
}

// descriptors counts the open ones, the runtime's own event queue and wake-up among them.
func descriptors() int { return len(openFiles()) }

func openFiles() []string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		// The runtime opens its epoll set with the first file that can be polled, and keeps it.
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && link != "anon_inode:[eventpoll]" && link != "anon_inode:[eventfd]" {
			out = append(out, e.Name()+" "+link)
		}
	}
	return out
}

// children counts this process's children, whichever thread has them.
func children() int {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	n := 0
	for _, l := range lists {
		if data, err := os.ReadFile(l); err == nil {
			n += len(bytes.Fields(data))
		}
	}
	return n
}

// stage plays s in a helper process with the given namespaces and returns the verdict.
func (s scene) stage(t *testing.T, namespaces uintptr) verdict {
	t.Helper()
	dir := openDir(t)
	path := filepath.Join(dir, "scene")
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o666))
	require.NoError(t, os.Chmod(path, 0o666))
	cmd := exec.Command(helperProgram)
	cmd.Dir = "/"
	cmd.Env = []string{sceneVariable + "=" + path, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if namespaces&unix.CLONE_NEWUSER != 0 {
		all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1<<32 - 1}}
		if s.OneID {
			all[0].Size = 1
		}
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = all, all
		cmd.SysProcAttr.GidMappingsEnableSetgroups = true
	}
	out, err := cmd.CombinedOutput()
	broken, _ := os.ReadFile(path + ".broken")
	require.NoError(t, err, "the helper failed: %s %s", broken, out)
	data, err = os.ReadFile(path + ".verdict")
	require.NoError(t, err, "the helper gave no verdict: %s %s", broken, out)
	var v verdict
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

// openDir returns a new directory in which every user may write.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcell-scene-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

// nothingLeft: no process of the scene, no descriptor, no child.
func (v verdict) nothingLeft(t *testing.T) {
	t.Helper()
	assert.Zero(t, v.Children, "children of the helper")
	assert.Zero(t, v.Descriptors, "descriptors more than before: %q", v.Open)
	assert.Zero(t, settled(func() int { return len(running(helperProgram)) }), "processes of the helper's program")
}

// running lists the processes that execute the file at path.
func running(path string) []int {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	var pids []int
	for _, l := range links {
		if target, err := os.Readlink(l); err != nil || !strings.HasPrefix(target, path) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(l))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// requireRoot skips without root, which sets the scenes up.
func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
		require.Fail(t, "these tests need root")
	}
	t.Skip("needs root to set the scene up")
}
