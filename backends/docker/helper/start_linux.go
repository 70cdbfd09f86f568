package helper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
)

// start does everything up to a running program, or says why there is none.
func (r *run) start() *frame.Failure {
	if f := r.checkUser(); f != nil {
		return f
	}
	if f := r.checkPlaces(); f != nil {
		return f
	}
	for _, dir := range r.call.Scratch {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return failure("make "+dir, frame.ClassSetup, err)
		}
	}
	if err := os.Chdir(string(r.call.Dir)); err != nil {
		return failure("enter "+string(r.call.Dir), frame.ClassInvalid, err)
	}
	r.count = openCounters()
	if r.call.Tasks > 0 {
		if err := takeThreads(r.call.Tasks); err != nil {
			return failure("take init's own tasks", frame.ClassSetup, err)
		}
	}
	if err := r.limit(); err != nil {
		return failure("set the program's limits", frame.ClassSetup, err)
	}
	if len(r.call.Noexec) > 0 {
		var paths []string
		for _, p := range r.call.Noexec {
			paths = append(paths, string(p))
		}
		if err := denyExec(paths); err != nil {
			return failure("forbid execution on a mount", frame.ClassNoexec, err)
		}
	}
	return r.spawn()
}

// checkUser asks the kernel, whatever the engine was told: a user's name in an image can be root's.
func (r *run) checkUser() *frame.Failure {
	if r.call.Root || os.Getuid() != 0 && os.Geteuid() != 0 && os.Getgid() != 0 && os.Getegid() != 0 {
		return nil
	}
	return failure("check the user", frame.ClassRoot, fmt.Errorf("the engine started it as %d:%d", os.Getuid(), os.Getgid()))
}

// checkPlaces compares what was mounted with what was checked. The engine resolves a mount's source again, by its name, and
// who may rename there could have put something else in its place.
func (r *run) checkPlaces() *frame.Failure {
	for _, p := range r.call.Places {
		var st unix.Stat_t
		err := unix.Stat(string(p.Path), &st)
		if err == nil && (uint64(st.Dev) != p.Dev || st.Ino != p.Ino) {
			err = errors.New("the source was exchanged for another after it was checked")
		}
		if err != nil {
			return failure(fmt.Sprintf("check the mount at %q", p.Path), frame.ClassMount, err)
		}
	}
	return nil
}

// usual are the soft limits that an engine without a daemon hands on from its caller, as every other program finds them.
func usual() map[int]uint64 {
	const unlimited = ^uint64(0)
	return map[int]uint64{
		unix.RLIMIT_STACK: 8 << 20, unix.RLIMIT_DATA: unlimited, unix.RLIMIT_AS: unlimited, unix.RLIMIT_RSS: unlimited,
	}
}

// limit sets the limits that are at least as wide as init needs them; the program inherits them.
func (r *run) limit() error {
	for resource, value := range usual() {
		if err := setSoft(resource, value); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		resource int
		value    uint64
	}{{unix.RLIMIT_FSIZE, r.call.FileBytes}, {unix.RLIMIT_CPU, r.call.RlimitCPU}} {
		if l.value == 0 {
			continue
		}
		if err := lower(0, l.resource, l.value); err != nil {
			return err
		}
	}
	return nil
}

// setSoft sets a soft limit of this process, to the hard one at most.
func setSoft(resource int, value uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	l.Cur = min(value, l.Max)
	return os.NewSyscallError("setrlimit", unix.Setrlimit(resource, &l))
}

// lower sets a limit of process pid (0: this one), unless it is lower already.
func lower(pid, resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &old); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	value = min(value, old.Max)
	if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
		return os.NewSyscallError("prlimit", err)
	}
	return nil
}

// spawn starts the program and everything that moves its streams.
func (r *run) spawn() *frame.Failure {
	theirs, err := r.openStreams()
	if err != nil {
		return failure("make the program's streams", frame.ClassSetup, err)
	}
	defer closeAll(theirs)
	r.base = r.count.usage()
	runtime.GC() // what has been used so far is used again, rather than pages that would count while there are none
	// The kernel kills the process with the highest score first. Init's own stays, so that it lives to tell.
	r.setScore("500")
	r.pid, err = r.exec(theirs)
	r.setScore("0")
	if err != nil {
		return startFailure(string(r.call.Argv[0]), err)
	}
	r.ended, r.relays, r.streams = make(chan struct{}), make(chan struct{}, 2), len(r.outputs)
	go r.reap()
	if err := r.limitFiles(); err != nil {
		r.killTree()
		return failure("set the program's limits", frame.ClassSetup, err)
	}
	if err := r.out.frame(frame.Started, nil); err != nil {
		r.killTree()
		return failure("report the start", frame.ClassSetup, err)
	}
	go r.relay(r.outputs[0], frame.Stdout)
	go r.relay(r.outputs[1], frame.Stderr)
	in := newInput(r.stdin, r.out)
	go in.write()
	go r.listen(in)
	return nil
}

// limitFiles comes after the start, since init itself needs more descriptors than the least limit; a program that has
// not ended yet has it from here on.
func (r *run) limitFiles() error {
	if r.call.OpenFiles == 0 {
		return nil
	}
	err := lower(r.pid, unix.RLIMIT_NOFILE, r.call.OpenFiles)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// setScore sets what a process forked now inherits. Without it init may be the one that is killed, which the caller
// then sees as an end without a report.
func (r *run) setScore(value string) {
	if r.score != nil {
		_, _ = r.score.WriteString(value)
	}
}

// openStreams makes the pipes; it returns the program's ends.
func (r *run) openStreams() ([]*os.File, error) {
	var theirs []*os.File
	stdin, err := os.Open(os.DevNull)
	if r.call.Stdin && err == nil {
		stdin.Close()
		stdin, r.stdin, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	for i := range r.outputs {
		read, write, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			return nil, err
		}
		r.outputs[i], theirs = read, append(theirs, write)
	}
	return theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// exec tries the places where the program can be, as execvp(3) does.
func (r *run) exec(theirs []*os.File) (int, error) {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, e := range r.call.Env {
		attr.Env = append(attr.Env, string(e))
	}
	for _, f := range theirs {
		attr.Files = append(attr.Files, f.Fd())
	}
	var argv []string
	for _, a := range r.call.Argv {
		argv = append(argv, string(a))
	}
	var denied error
	for _, p := range candidates(argv[0], attr.Env) {
		pid, err := syscall.ForkExec(p, argv, attr)
		switch {
		case err == nil:
			return pid, nil
		case errors.Is(err, syscall.EACCES):
			denied = err
		case !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ENOTDIR):
			return 0, err
		}
	}
	if denied != nil {
		return 0, denied
	}
	return 0, syscall.ENOENT
}

// candidates are the paths to try for a program's name.
func candidates(name string, env []string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	var out []string
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			for dir := range strings.SplitSeq(path, ":") {
				if dir == "" {
					dir = "." // POSIX: an empty prefix is the working directory
				}
				out = append(out, dir+"/"+name)
			}
		}
	}
	return out
}

func startFailure(program string, err error) *frame.Failure {
	class := frame.ClassNotExecutable
	switch {
	case errors.Is(err, syscall.ENOENT):
		class = frame.ClassNotFound
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.E2BIG):
		class = frame.ClassInvalid
	}
	return failure(fmt.Sprintf("start %q", program), class, err)
}

func failure(step string, class frame.Class, err error) *frame.Failure {
	f := &frame.Failure{Step: step, Class: class, Text: string(bytes.ToValidUTF8([]byte(err.Error()), []byte("?")))}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno, f.Text = uint32(errno), errno.Error()
	}
	return f
}
