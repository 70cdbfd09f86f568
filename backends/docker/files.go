package docker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
	"github.com/soulacy/toolcell/seccomp"
)

// files are the small files that containers are made with. They are in one directory, which goes with the backend.
type files struct {
	dir  string
	mu   *sync.Mutex
	have map[string]bool
}

func newFiles(parent string) (files, error) {
	if parent == "" && runtime.GOOS != "linux" {
		// An engine in a virtual machine sees the home directory, and not the one for temporary files.
		cache, err := os.UserCacheDir()
		if err != nil {
			return files{}, unavailable("find a place for files", err, "set the state directory")
		}
		parent = cache
	}
	dir, err := os.MkdirTemp(parent, helper.DirPrefix)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return files{}, unavailable("make a directory for files", err, "set the state directory to one that can be written")
	}
	return files{dir: dir, mu: &sync.Mutex{}, have: map[string]bool{}}, nil
}

func (f files) close() error {
	if f.dir == "" {
		return nil
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("close docker: %w", err)
	}
	return nil
}

// write makes a file, once, and returns its path.
func (f files) write(name string, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := filepath.Join(f.dir, name)
	if f.have[name] {
		return path, nil
	}
	if err := os.WriteFile(path, data, 0o444); err != nil {
		return "", &sandbox.Error{Kind: sandbox.KindSetup, Op: "write " + name, Cause: err}
	}
	if err := os.Chmod(path, 0o444); err != nil { // whatever the umask
		return "", &sandbox.Error{Kind: sandbox.KindSetup, Op: "write " + name, Cause: err}
	}
	f.have[name] = true
	return path, nil
}

// filter writes the system call filter and returns its path and its text.
func (f files) filter(o seccomp.Options) (path, text string, err error) {
	name := "seccomp.json"
	if o.Inotify {
		name = "seccomp-inotify.json"
	}
	var short bytes.Buffer
	if err := json.Compact(&short, seccomp.JSON(o)); err != nil {
		return "", "", &sandbox.Error{Kind: sandbox.KindSetup, Op: "write " + name, Cause: err}
	}
	path, err = f.write(name, short.Bytes())
	return path, short.String(), err
}

// identity writes the accounts that a program finds, and what replaces the engine's copies of the host's own name
// service files where there is no network. They are the native backend's.
func (f files) identity(u user, network string) ([]sandbox.Mount, error) {
	var out []sandbox.Mount
	add := func(target, name, data string) error {
		path, err := f.write(name, []byte(data))
		out = append(out, sandbox.Mount{Source: path, Target: target})
		return err
	}
	var err error
	if !u.image {
		err = errors.Join(add("/etc/passwd", fmt.Sprintf("passwd-%d-%d", u.uid, u.gid), passwd(u)), add("/etc/group", fmt.Sprintf("group-%d", u.gid), group(u)))
	}
	if network == sandbox.NetworkNone {
		hosts := "127.0.0.1 localhost " + dockerargs.Hostname + "\n::1 localhost ip6-localhost ip6-loopback " + dockerargs.Hostname + "\n"
		err = errors.Join(err, add("/etc/hosts", "hosts", hosts), add("/etc/resolv.conf", "resolv.conf", "# no network\n"))
	}
	return out, err
}

// account is the name of the program's user and group.
const account = "tool"

func passwd(u user) string {
	lines := []string{"root:x:0:0:root:/nonexistent:/usr/sbin/nologin"}
	if u.uid != 65534 {
		lines = append(lines, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin")
	}
	lines = append(lines, fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/sh", account, u.uid, u.gid, account, sandbox.HomeDir))
	return strings.Join(lines, "\n") + "\n"
}

func group(u user) string {
	lines := []string{"root:x:0:"}
	if u.gid != 65534 {
		lines = append(lines, "nogroup:x:65534:")
	}
	return strings.Join(append(lines, fmt.Sprintf("%s:x:%d:", account, u.gid)), "\n") + "\n"
}

// helperName is the program beside an executable.
const helperName = "toolcell-init"

// findHelper finds the program that is init inside: the configured one, the one beside this executable, or on Linux this
// program itself when it has called helper.Main. PATH is never searched.
func findHelper(configured string) (string, error) {
	if configured != "" {
		return checkHelper(configured)
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err == nil {
		path, err := checkHelper(filepath.Join(filepath.Dir(self), helperName))
		if !errors.Is(err, os.ErrNotExist) {
			return path, err
		}
		if runtime.GOOS == "linux" && helper.Callable() {
			return checkHelper(self)
		}
	}
	return "", unavailable("find init's program",
		fmt.Errorf("no path is configured, %s is not beside this program, and this program cannot be it", helperName),
		"set the helper's path, put "+helperName+" for the engine's Linux beside this program, or call helper.Main first thing in main")
}

// checkHelper refuses a program that others than root and the caller can change, or that the engine cannot be told of.
func checkHelper(path string) (string, error) {
	fix := "install it so that only root or the caller can change it, and everybody can read and execute it"
	if !filepath.IsAbs(path) {
		return "", unavailable("find init's program", fmt.Errorf("%q is not an absolute path", path), fix)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", unavailable("find init's program", err, fix)
	}
	if err := checkProgram(info); err != nil {
		return "", unavailable("find init's program", fmt.Errorf("%s: %w", path, err), fix)
	}
	return path, nil
}

func unavailable(op string, cause error, fix string) error {
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: op, Cause: cause, Fix: fix}
}
