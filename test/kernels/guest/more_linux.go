package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
)

// other is a host user that owns a directory which root mounts.
const other = 1000

// writableMount: what is written inside belongs to the directory's owner outside.
func writableMount() error {
	owners := []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		owners = append(owners, other)
	}
	var errs []error
	for _, uid := range owners {
		errs = append(errs, writable(uid))
	}
	return errors.Join(errs...)
}

func writable(uid int) error {
	d, err := os.MkdirTemp("", "workspace-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(d)
	if os.Geteuid() == 0 {
		if err := os.Chown(d, uid, uid); err != nil {
			return err
		}
	}
	if err := want("exited", "", "-v", d+":/work", "-w", "/work", "host", "sh", "-c", "mkdir sub && echo hi > sub/file"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(d, "sub/file"))
	if err != nil || string(text) != "hi\n" {
		return fmt.Errorf("the file holds %q: %w", text, err)
	}
	for _, name := range []string{"sub", "sub/file"} {
		var st syscall.Stat_t
		if err := syscall.Lstat(filepath.Join(d, name), &st); err != nil {
			return err
		}
		if int(st.Uid) != uid {
			return fmt.Errorf("%s belongs to %d, want %d", name, st.Uid, uid)
		}
	}
	return nil
}

func forbiddenMounts() error {
	for _, source := range []string{"/", "/proc", "/sys", "/dev"} {
		r, err := toolcell("-v", source+":/seen", "host", "true")
		if err != nil {
			return err
		}
		if r.Error == nil || r.Error.Kind != "refused" && r.Error.Kind != "invalid" {
			return fmt.Errorf("%s was mounted, or not refused as it should be: %+v", source, r)
		}
	}
	return nil
}

// noNetwork: a service of the host that can be reached outside cannot be reached inside, nor can anything else.
func noNetwork() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	c.Close()
	script := fmt.Sprintf(`
import errno, socket
for at in ("127.0.0.1", %d), ("192.0.2.1", 80):
    try:
        socket.create_connection(at, 5)
        print("connected")
    except OSError as e:
        print(errno.errorcode[e.errno])
`, l.Addr().(*net.TCPAddr).Port)
	return want("exited", "ECONNREFUSED\nENETUNREACH\n", "host", "python3", "-c", script)
}

// callerKilled kills the process that called with a signal that it cannot handle.
func callerKilled() error {
	m := marker()
	script := "for i in 1 2 3; do setsid sh -c 'while :; do sleep 1; done; : " + m + "' & done; wait"
	cmd := exec.Command(program("toolcell"), "run", "host", "sh", "-c", script)
	if err := cmd.Start(); err != nil {
		return err
	}
	seen := errors.Join(await(func() bool { return len(holding(m)) >= 4 }), visible())
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	_ = cmd.Wait() // killed
	if seen != nil {
		return fmt.Errorf("the sandbox was not seen running: %w", seen)
	}
	if err := await(func() bool { return len(holding(m)) == 0 }); err != nil {
		return fmt.Errorf("processes %v are left", holding(m))
	}
	return nil
}

const parallel = 50

// inParallel makes calls at once, as a gateway does: through the library, with one backend.
func inParallel() error {
	b, err := backends.OpenBackend(context.Background(), "native", backends.Config{})
	if err != nil {
		return err
	}
	errs := make([]error, parallel+1)
	var all sync.WaitGroup
	for i := range parallel {
		all.Go(func() { errs[i] = numbered(b, i) })
	}
	all.Wait()
	errs[parallel] = b.Close()
	return errors.Join(errs...)
}

// numbered makes a call that has to answer with its own number.
func numbered(b sandbox.Backend, i int) error {
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: patience}} // all share one emulated CPU
	r, err := b.Run(context.Background(), p, sandbox.Command{
		Argv: []string{"sh", "-c", "echo $0; sleep 0.2", fmt.Sprint(i)},
	})
	switch got := strings.TrimSpace(string(r.Stdout)); {
	case err != nil:
		return err
	case r.Status != sandbox.StatusExited || got != fmt.Sprint(i):
		return fmt.Errorf("call %d: status %q, stdout %q, stderr %q", i, r.Status, got, r.Stderr)
	}
	return nil
}

// scene is what calls could leave behind.
type scene struct {
	mounts, groups, programs []string
}

func look() (scene, error) {
	var s scene
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return s, err
	}
	s.mounts = strings.Split(string(text), "\n")
	top := groupsBelow()
	err = filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if p == top && err != nil {
			return err // where nothing can be seen nothing can be left
		}
		if err == nil && d.IsDir() && instance.MatchString(p) {
			s.groups = append(s.groups, p)
		}
		return nil // a directory that goes away meanwhile is gone
	})
	if err != nil {
		return s, err
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cgroup") // the pattern is right
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && instance.Match(text) {
			s.programs = append(s.programs, filepath.Base(filepath.Dir(f)))
		}
	}
	return s, nil
}

// instance is in the path of every cgroup that toolcell makes.
var instance = regexp.MustCompile(`/toolcell-[0-9a-f]{16}`)

// groupsBelow is where this process's cgroups are: all of them on v2, where systemd may have been asked for some; on v1,
// which only a container here has, those below its own.
func groupsBelow() string {
	const top = "/sys/fs/cgroup"
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return top
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.SplitN(strings.TrimSpace(line), ":", 3); len(fields) == 3 && fields[1] == "memory" {
			return filepath.Join(top, fields[1], fields[2])
		}
	}
	return top
}

// visible is the control of nothingLeft: of a sandbox that runs its cgroup and its processes are seen.
func visible() error {
	now, err := look()
	if err == nil && (len(now.groups) == 0 || len(now.programs) == 0) {
		err = fmt.Errorf("control: cgroups %q, processes %q", now.groups, now.programs)
	}
	return err
}

// nothingLeft wants no mount that was not there before the calls, and no cgroup or process of a sandbox. Directories are
// removed in the background, and those of a caller that was killed by whoever came after.
func nothingLeft(before scene) error {
	var left scene
	err := await(func() bool {
		now, err := look()
		now.mounts = slices.DeleteFunc(now.mounts, func(m string) bool { return slices.Contains(before.mounts, m) })
		left = now
		return err == nil && len(now.mounts)+len(now.groups)+len(now.programs) == 0
	})
	if err != nil {
		return fmt.Errorf("left: %+v", left)
	}
	return nil
}
