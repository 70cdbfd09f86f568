package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// InstallArgs are the arguments of install_library.
type InstallArgs struct {
	// Manager is "pip", "pip3" or "npm".
	Manager string
	// Package is the package's name, for pip with extras as in "name[extra]".
	Package string
	// Version is the version. "" is the newest.
	Version string
	// Target is a directory of the workspace, given like [ShellArgs].WorkingDir; it is made. "" installs on the scratch,
	// for that call only, which shows that the package can be installed and leaves nothing.
	Target string
	// Isolation is "" or IsolationSandbox.
	Isolation string
	// Streams are the input and the taps.
	Streams
}

// scratchPackages is where packages go that are for one call.
const scratchPackages = "/tmp/packages"

// InstallLibrary installs a package in a sandbox that has a network, which the operator has to grant. It changes nothing
// of the host and nothing of the image; what is to stay goes to a directory of the workspace.
//
// What a package runs while it is installed has the network and the workspace, both. What lies in the workspace is neither
// run nor obeyed meanwhile.
func (t Tools) InstallLibrary(ctx context.Context, a InstallArgs) (Output, error) {
	m, err := findManager(a)
	if err != nil {
		return Output{}, err
	}
	p, err := t.enter(ctx, Request{Tool: NameInstallLibrary, Isolation: a.Isolation, Network: true})
	if err != nil {
		return Output{}, err
	}
	target, err := t.installTarget(p, a)
	if err != nil {
		return Output{}, err
	}
	if _, err := t.programPath(p, NameInstallLibrary, "", true); err != nil {
		return Output{}, err
	}
	o, err := t.install(ctx, p, m.spec(a), job{
		tool: NameInstallLibrary, argv: append(slices.Clone(m.argv), target), env: m.env, streams: a.Streams,
		timeout: p.cap(0, InstallTimeout, InstallTimeout), output: MaxInstallOutput,
	})
	if err == nil && o.Result.Status == sandbox.StatusExited && o.Result.ExitCode == 0 {
		o.Note = m.note(target, a)
	}
	return o, err
}

// install runs a manager in a directory of its own: what earlier calls, which had no network, left in the workspace is
// neither code nor settings of one that has.
func (t Tools) install(ctx context.Context, p Place, spec string, j job) (o Output, err error) {
	s, err := t.stage(j.tool, p, nil, "install.sh", npmScript)
	if err != nil {
		return Output{}, refusedTool(j.tool, err)
	}
	defer func() { err = errors.Join(err, s.end()) }()
	script, dir := p.inside(s)
	if j.argv[0] == shell {
		j.argv = slices.Insert(j.argv, 1, script)
	}
	j.dir, j.argv = dir, append(j.argv, "--", spec)
	if !p.OnHost {
		ms := s.mounts(true, true) // a package may bring what its installation runs
		p.Profile.Binds = append(slices.Clone(p.Profile.Binds), ms...)
	}
	return t.run(ctx, t.withWorkspace(p), j)
}

// shell runs npmScript.
const shell = "/bin/sh"

// npmScript installs the package $3 in the working directory, which is empty, and puts what came into $1. In $1 npm would
// take package.json, a lock file and .npmrc for a project's.
const npmScript = `set -e
npm install --silent --prefix "$PWD" -- "$3"
mkdir -p "$1/node_modules"
cp -RPf node_modules/. "$1/node_modules/"
`

// manager is a package manager that needs no root.
type manager struct {
	name, version *regexp.Regexp
	env           []string
	// argv is what comes before the target and the package.
	argv []string
	// between stands between a package's name and its version, and use is how what was installed is found.
	between, use string
}

// spec is what a manager calls the package.
func (m manager) spec(a InstallArgs) string {
	if a.Version == "" {
		return a.Package
	}
	return a.Package + m.between + a.Version
}

// archive reports whether a manager could take a name for that of a file in its working directory.
func archive(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{".tgz", ".tar", ".gz", ".bz2", ".tbz", ".xz", ".txz", ".tlz", ".lz", ".lzma", ".zip", ".whl"},
		func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// findManager checks what is asked for. Names are the managers' own; a file, a URL or an option is none of them.
func findManager(a InstallArgs) (manager, error) {
	op := string(NameInstallLibrary)
	var m manager
	switch a.Manager {
	case "pip", "pip3":
		m = pip()
	case "npm":
		m = npm()
	case "apt", "apt-get", "brew":
		return m, &sandbox.Error{
			Kind: sandbox.KindRefused, Op: op, Cause: fmt.Errorf("%s changes the system, which is read-only in a sandbox", a.Manager),
			Fix: "use pip or npm, or let the operator choose an image that has the package",
		}
	default:
		return m, sandbox.Invalid(op, "unsupported manager %q (supported: npm, pip)", short(a.Manager))
	}
	if !m.name.MatchString(a.Package) || archive(a.Package) {
		return m, sandbox.Invalid(op, "%q is no name of a package", short(a.Package))
	}
	if a.Version != "" && (!m.version.MatchString(a.Version) || archive(a.Version)) {
		return m, sandbox.Invalid(op, "%q is no version", short(a.Version))
	}
	return m, nil
}

func pip() manager {
	return manager{
		name:    regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._, -]*\])?$`),
		version: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.!+_-]*$`),
		env:     []string{"PIP_NO_CACHE_DIR=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1"},
		between: "==", use: "PYTHONPATH=%s",
		// Isolated (-I), Python looks for pip where it is installed alone.
		argv: []string{"python3", "-I", "-m", "pip", "install", "--quiet", "--target"},
	}
}

func npm() manager {
	return manager{
		name:    regexp.MustCompile(`^(@[a-z0-9~][a-z0-9._~-]*/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*$`),
		version: regexp.MustCompile(`^[A-Za-z0-9^~=<>*][A-Za-z0-9.^~+=<>* -]*$`),
		env:     []string{"npm_config_cache=/tmp/npm", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false"},
		between: "@", use: "NODE_PATH=%s/node_modules",
		argv: []string{shell},
	}
}

// note says what there is now, and how to use it.
func (m manager) note(target string, a InstallArgs) string {
	if a.Target == "" {
		return fmt.Sprintf("%s was installed for this call only; name a target directory of the workspace to keep it", a.Package)
	}
	return fmt.Sprintf("%s was installed in %s; use it with "+m.use, a.Package, plainName(target), plainName(target))
}

// installTarget is where the package goes, as the program sees it.
func (t Tools) installTarget(p Place, a InstallArgs) (string, error) {
	switch {
	case a.Target == "" && p.OnHost:
		return "", sandbox.Invalid(string(NameInstallLibrary), "on the host nothing is for one call only; name a target directory of the workspace")
	case a.Target == "":
		return scratchPackages, nil
	}
	dir, err := t.programPath(p, NameInstallLibrary, a.Target, true)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	// The manager makes it, inside.
	in := t
	in.Roots = []string{t.Workspace}
	s, err := in.locate(NameInstallLibrary, a.Target)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if p.OnHost {
		return filepath.Join(t.Workspace, s.name), nil
	}
	return path.Join(WorkspaceTarget, filepath.ToSlash(s.name)), nil
}
