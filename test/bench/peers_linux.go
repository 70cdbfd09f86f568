package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// wrapper is a peer that is a program put before another's command line.
type wrapper struct {
	name string
	slow bool
	// find returns the peer's program.
	find func() (string, error)
	// args are what comes between it and the command line; env is added to the environment.
	args, env []string
	// shell says that it takes the command line as a shell would.
	shell bool
}

// wrappers are the peers of this kind. dir is for what they leave.
func wrappers(dir string) []wrapper {
	return []wrapper{
		{name: nameBwrap, find: inPath("bwrap"), args: bwrapFlags()},
		{name: nameUnshare, find: inPath("unshare"), args: unshareFlags()},
		{
			name: nameRunscDo, slow: true, find: inPath("runsc"),
			args: []string{"--root", filepath.Join(dir, "runsc"), "--network=none", "--platform=ptrace", "do"},
		},
		{name: nameCodex, slow: true, find: readyCodex, args: []string{"sandbox", "--"}, env: []string{"CODEX_HOME=" + codexHome()}},
		{name: nameSrt, slow: true, find: fromNPM("srt"), args: []string{"-c"}, shell: true},
	}
}

// bwrapFlags are what the goals are stated against.
func bwrapFlags() []string {
	return []string{"--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent"}
}

func unshareFlags() []string {
	return []string{
		"--user", "--map-root-user", "--mount", "--uts", "--ipc", "--net", "--cgroup", "--pid", "--fork", "--mount-proc", "--kill-child",
	}
}

// subject runs the program in the peer, in a directory of its own: some leave files where they are started.
func (w wrapper) subject(p program, dir string) (subject, error) {
	s := subject{name: w.name, peer: true, slow: w.slow}
	path, err := w.find()
	if err != nil {
		return s, err
	}
	argv := append([]string{path}, w.args...)
	if w.shell {
		argv = append(argv, quoted(p.argv))
	} else {
		argv = append(argv, p.argv...)
	}
	s.run = func() (time.Duration, error) {
		cmd := command(argv)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), w.env...)
		return capture(cmd, p)
	}
	return s, nil
}

// quoted writes a command line for a shell.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

func inPath(name string) func() (string, error) {
	return func() (string, error) { return absolute(name) }
}

// npmDir is where peers.sh puts what it installs from npm.
func npmDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "toolcell", "bench")
}

// fromNPM finds a command of an npm package, installed by peers.sh or for the whole machine.
func fromNPM(name string) func() (string, error) {
	return func() (string, error) {
		path := filepath.Join(npmDir(), "node_modules", ".bin", name)
		if exists(path) == nil {
			return path, nil
		}
		return absolute(name)
	}
}

// codexProgram finds the program that the package's command starts, which saves the peer the start of node.
func codexProgram() (string, error) {
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	found, err := filepath.Glob(filepath.Join(npmDir(), "node_modules", "@openai", "codex-linux-"+cpu, "vendor", "*", "bin", "codex"))
	if err == nil && len(found) == 1 {
		return found[0], nil
	}
	return fromNPM("codex")()
}

// codexHome is where codex keeps its files; it takes none below /tmp.
func codexHome() string { return filepath.Join(npmDir(), "codex-home") }

// readyCodex finds codex, and makes the directory that it wants to be there.
func readyCodex() (string, error) {
	path, err := codexProgram()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(codexHome(), 0o700); err != nil {
		return "", fmt.Errorf("make a directory for codex: %w", err)
	}
	return path, nil
}

// versionArgs are the peers' ways to say their version.
func versionArgs() map[string][]string {
	return map[string][]string{
		"bwrap": {"bwrap", "--version"}, "unshare": {"unshare", "--version"}, "runc": {"runc", "--version"},
		"docker": {"docker", "--version"}, "podman": {"podman", "--version"}, "runsc": {"runsc", "--version"},
		"python": {"/usr/bin/python3", "--version"}, "node": {"/usr/bin/node", "--version"},
	}
}

// versions says what was measured.
func versions() map[string]string {
	all := versionArgs()
	for name, find := range map[string]func() (string, error){"codex": codexProgram, "srt": fromNPM("srt")} {
		if path, err := find(); err == nil {
			all[name] = []string{path, "--version"}
		}
	}
	out := map[string]string{}
	for name, argv := range all {
		if b, err := command(argv).Output(); err == nil {
			out[name] = firstLine(string(b))
		}
	}
	return out
}
