package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// The names of the subjects.
const (
	nameBare     = "bare start"
	nameCaptured = "bare start, output captured"
	nameCold     = "toolcell, cold"
	nameArmed    = "toolcell, armed"
	nameProcess  = "toolcell run (a process)"
	nameBwrap    = "bwrap"
	nameUnshare  = "unshare"
	nameRunc     = "runc run"
	nameNewUser  = "os/exec with CLONE_NEWUSER"
)

// program is what a subject runs, by absolute path, so that no way spends its time on a search.
type program struct {
	argv []string
	// output is what it must print.
	output string
}

var errOutput = errors.New("unexpected output")

// command is os/exec's own start of a process, which is what everything here is compared with.
func command(argv []string) *exec.Cmd {
	return exec.Command(argv[0], argv[1:]...) //nolint:forbidigo // the design's bare start is this call; a context would add a goroutine
}

// bare starts the program with nothing around it.
func bare(name string, p program) subject {
	return subject{name: name, run: func() (time.Duration, error) {
		begin := time.Now()
		err := command(p.argv).Run()
		return time.Since(begin), err
	}}
}

// captured starts argv, which ends in the program, and takes both its streams.
func captured(name string, argv []string, p program) subject {
	return subject{name: name, run: func() (time.Duration, error) {
		var stdout, stderr bytes.Buffer
		begin := time.Now()
		cmd := command(argv)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		d := time.Since(begin)
		if err == nil && stdout.String() != p.output {
			err = errOutput
		}
		if err != nil {
			err = fmt.Errorf("%w: stdout %q, stderr %q", err, stdout.String(), stderr.String())
		}
		return d, err
	}}
}

// newUser starts the program with os/exec in a user namespace, for which Go copies the caller's page tables.
func newUser(p program) subject {
	return subject{name: nameNewUser, run: func() (time.Duration, error) {
		begin := time.Now()
		cmd := command(p.argv)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		err := cmd.Run()
		return time.Since(begin), err
	}}
}

// cold makes one call of the library.
func cold(b sandbox.Backend, p program) subject {
	return subject{name: nameCold, run: func() (time.Duration, error) { return call(b, p) }}
}

// armed makes one call that finds a sandbox standing ready. Its building is not measured, and no other is built meanwhile.
func armed(b sandbox.Backend, p program) subject {
	return subject{name: nameArmed, run: func() (time.Duration, error) {
		ctx, profile := context.Background(), sandbox.ContainerProfile{}
		a, ok := b.(sandbox.Armer)
		if !ok {
			return 0, errors.New("the backend builds nothing ahead")
		}
		if err := a.Arm(ctx, profile, sandbox.Arming{Count: 1}); err != nil {
			return 0, err
		}
		d, err := call(b, p)
		return d, errors.Join(err, a.Arm(ctx, profile, sandbox.Arming{}))
	}}
}

func call(b sandbox.Backend, p program) (time.Duration, error) {
	begin := time.Now()
	r, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: p.argv})
	d := time.Since(begin)
	switch {
	case err != nil:
		return d, err
	case r.Status != sandbox.StatusExited || r.ExitCode != 0:
		return d, fmt.Errorf("status %s, exit code %d, stderr %q", r.Status, r.ExitCode, r.Stderr)
	case string(r.Stdout) != p.output:
		return d, fmt.Errorf("%w: stdout %q", errOutput, r.Stdout)
	}
	return d, nil
}

// openBackend opens the native backend as a program that embeds it would, with the profile prepared.
func openBackend(bin, waive string) (sandbox.Backend, error) {
	spawner, err := filepath.Abs(filepath.Join(bin, "toolcell-init"))
	if err != nil {
		return nil, fmt.Errorf("find the spawner: %w", err)
	}
	config := native.Config{Spawner: spawner}
	for _, g := range strings.FieldsFunc(waive, func(r rune) bool { return r == ',' }) {
		config.Waivers = append(config.Waivers, sandbox.Waiver{Guarantee: sandbox.Guarantee(g), Reason: "a benchmark"})
	}
	ctx := context.Background()
	b, err := native.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the native backend: %w", err)
	}
	if err := b.Prepare(ctx, sandbox.ContainerProfile{}); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the profile: %w", err), b.Close())
	}
	return b, nil
}

// bwrapArgv is the peer's command line that the goals are stated against.
func bwrapArgv(bwrap string, argv []string) []string {
	flags := []string{bwrap, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent"}
	return append(flags, argv...)
}

func unshareArgv(unshare string, argv []string) []string {
	flags := []string{
		unshare, "--user", "--map-root-user", "--mount", "--uts", "--ipc", "--net", "--cgroup", "--pid", "--fork", "--mount-proc", "--kill-child",
	}
	return append(flags, argv...)
}

// absolute returns where a peer's program is, without links of shims in between.
func absolute(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("not installed: %w", err)
	}
	return filepath.Abs(path)
}

func exists(path string) error {
	_, err := os.Stat(path)
	return err
}
