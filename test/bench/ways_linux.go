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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

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
	return subject{name: name, run: func() (time.Duration, error) { return capture(command(argv), p) }}
}

// capture runs cmd and takes both its streams.
func capture(cmd *exec.Cmd, p program) (time.Duration, error) {
	var stdout, stderr bytes.Buffer
	begin := time.Now()
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

// aheadPause is long enough for a spawner to make the next call's namespaces. It is not in any call's time.
const aheadPause = 3 * time.Millisecond

// paced makes a cold call with a pause after it: the CPU time of a caller that waits, to compare coldAhead's with.
func paced(b sandbox.Backend, p program) subject {
	return subject{name: namePaced, run: func() (time.Duration, error) {
		d, err := call(b, p)
		time.Sleep(aheadPause)
		return d, err
	}}
}

// coldAhead makes a call whose namespaces its spawner has made after the one before.
func coldAhead(b *native.Backend, p program) subject {
	used := func() int { return b.ArmedStats().InNamespaces }
	return subject{name: nameAhead, run: func() (time.Duration, error) {
		return again(func() (time.Duration, error) {
			d, err := counted(used, func() (time.Duration, error) { return call(b, p) })
			time.Sleep(aheadPause)
			return d, err
		})
	}}
}

// armed makes one call that finds a sandbox standing ready. Its building is not in the call's time, and no other is built
// meanwhile; in a burst, which ahead begins and ends, others are.
func armed(b *native.Backend, p program) subject {
	var inBurst atomic.Bool
	arm := func(n int) error {
		return b.Arm(context.Background(), sandbox.ContainerProfile{}, sandbox.Arming{Count: n})
	}
	single := func() (time.Duration, error) {
		if err := armOne(b, sandbox.ContainerProfile{}, sandbox.Arming{Count: 1}); err != nil {
			return 0, err
		}
		d, err := served(b, func() (time.Duration, error) { return call(b, p) })
		return d, errors.Join(err, arm(0))
	}
	return subject{
		name: nameArmed,
		run: func() (time.Duration, error) {
			if inBurst.Load() {
				return call(b, p)
			}
			return again(single)
		},
		ahead: func(n int) error {
			inBurst.Store(n > 0)
			return arm(n)
		},
	}
}

func call(b sandbox.Backend, p program) (time.Duration, error) {
	begin := time.Now()
	r, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: p.argv})
	d := time.Since(begin)
	if err != nil {
		return d, err
	}
	return d, check(r, p.output)
}

// check says whether a program did what it had to.
func check(r sandbox.Result, output string) error {
	switch {
	case r.Status != sandbox.StatusExited || r.ExitCode != 0:
		return fmt.Errorf("status %s, exit code %d, stderr %q", r.Status, r.ExitCode, r.Stderr)
	case string(r.Stdout) != output:
		return fmt.Errorf("%w: stdout %q", errOutput, r.Stdout)
	}
	return nil
}

// openBackend opens the native backend as a program that embeds it would, with the profile prepared.
func openBackend(bin, waive string, config native.Config) (*native.Backend, error) {
	spawner, err := filepath.Abs(filepath.Join(bin, "toolcell-init"))
	if err != nil {
		return nil, fmt.Errorf("find the spawner: %w", err)
	}
	config.Spawner = spawner
	for _, g := range strings.FieldsFunc(waive, func(r rune) bool { return r == ',' }) {
		config.Waivers = append(config.Waivers, sandbox.Waiver{Guarantee: sandbox.Guarantee(g), Reason: "a benchmark"})
	}
	ctx := context.Background()
	opened, err := native.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the native backend: %w", err)
	}
	b, ok := opened.(*native.Backend)
	if !ok {
		return nil, errors.Join(fmt.Errorf("open the native backend: it is a %T", opened), opened.Close())
	}
	if err := b.Prepare(ctx, sandbox.ContainerProfile{}); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the profile: %w", err), b.Close())
	}
	return b, nil
}

// absolute returns where a program is.
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
