package tools

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/soulacy/toolcell/sandbox"
)

// findFile finds a tool's file on this host. Its directory is that of the file itself, where links end.
func (t Tools) findFile(a FileArgs) (source, error) {
	asked, err := absolute(a)
	if err != nil {
		return source{}, err
	}
	real, err := filepath.EvalSymlinks(asked)
	if err != nil {
		return source{}, unreadable(a.File, err)
	}
	root, name := filepath.Dir(real), filepath.Base(real)
	if len(t.Python.AllowedDirs) > 0 {
		if root, name, err = allowed(t.Python.AllowedDirs, real); err != nil {
			return source{}, outsideToolDirs(a.File, err)
		}
	}
	if err := readable(a.File, root, name); err != nil {
		return source{}, err
	}
	return source{dir: filepath.Dir(real), file: filepath.Base(real)}, nil
}

// absolute is the path of the host that a call means.
func absolute(a FileArgs) (string, error) {
	if a.File == "" || len(a.File) > maxPath || strings.ContainsRune(a.File, 0) {
		return "", sandbox.Invalid("python_file", "%s is no path", quoted(a.File))
	}
	if rest, ok := strings.CutPrefix(a.File, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", sandbox.Invalid("python_file", "%s: %w", quoted(a.File), err)
		}
		return filepath.Join(home, rest), nil
	}
	file := filepath.FromSlash(a.File)
	if filepath.IsAbs(file) {
		return file, nil
	}
	if !filepath.IsAbs(a.Base) {
		return "", sandbox.Invalid("python_file", "%s is relative, and there is no directory that it belongs to", quoted(a.File))
	}
	return filepath.Join(a.Base, file), nil
}

// allowed returns the directory that a real path lies below, and its name there.
func allowed(dirs []string, real string) (dir, name string, err error) {
	err = errors.New("outside the configured allowed_tool_dirs")
	for _, d := range dirs {
		r, evalErr := filepath.EvalSymlinks(d)
		if evalErr != nil { // one that is not there allows nothing
			err = fmt.Errorf("%w; %w", err, evalErr)
			continue
		}
		if name, relErr := filepath.Rel(r, real); relErr == nil && filepath.IsLocal(name) {
			return r, name, nil
		}
	}
	return "", "", err
}

// readable opens a file inside a directory, which what changed meanwhile cannot lead out of. What is wrong with the file is
// the call's own mistake; any other failure is the Root's, that a link leads out.
func readable(asked, dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return unreadable(asked, err)
	}
	defer root.Close()
	f, _, err := openRegular(root, name)
	if err == nil {
		return f.Close()
	}
	var errno syscall.Errno
	if errors.As(err, &errno) || errors.Is(err, errNotRegular) {
		return unreadable(asked, err)
	}
	return &sandbox.Error{
		Kind: sandbox.KindRefused, Op: "file " + quoted(asked), Cause: err, Fix: "a tool's file lies in the tool's own directory",
	}
}

// mounts are what the program sees of a source on this host: its directory. Where the program of a root caller is another
// user, what of the file's path is not for everybody to read would be a riddle of Python's. Mounted by itself, too, it is a
// refusal of the backend's that says what to do, and nothing new where the backend maps its owner.
func (s source) mounts() []sandbox.Mount {
	ms := []sandbox.Mount{{Source: s.dir, Target: ToolTarget, Exec: true}}
	file := filepath.Join(s.dir, s.file)
	if real, err := filepath.EvalSymlinks(file); os.Geteuid() != 0 || err != nil || real != file {
		return ms // a mount's source may not be reached by a link
	}
	for name := file; name != s.dir; name = filepath.Dir(name) {
		info, err := os.Stat(name)
		if err == nil && (info.Mode()&0o4 == 0 || info.IsDir() && info.Mode()&0o1 == 0) {
			ms = append(ms, sandbox.Mount{Source: name, Target: path.Join(codeTarget, strconv.Itoa(len(ms))), Exec: true})
		}
	}
	return ms
}

func outsideToolDirs(file string, cause error) error {
	return &sandbox.Error{
		Kind: sandbox.KindRefused, Op: "python_file " + quoted(file), Cause: cause,
		Fix: "move the tool, or let the operator update runtime.allowed_tool_dirs",
	}
}

func unreadable(asked string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) { // without the paths in between
		err = errno
	}
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "file " + quoted(asked), Cause: err}
}

// parseHandler takes "python:FILE::FUNCTION" apart.
func parseHandler(handler string) (file, function string, err error) {
	scheme, rest, ok := strings.Cut(handler, ":")
	switch {
	case !ok || scheme == "":
		return "", "", malformed(handler)
	case scheme != "python":
		return "", "", sandbox.Invalid("", "unsupported handler scheme %s (supported: python)", quoted(scheme))
	}
	at := strings.LastIndex(rest, "::")
	if at <= 0 || !identifier(rest[at+2:]) || strings.ContainsRune(rest, 0) || len(rest) > maxPath {
		return "", "", malformed(handler)
	}
	return rest[:at], rest[at+2:], nil
}

func malformed(handler string) error {
	return sandbox.Invalid("", "malformed handler %s, which has to be python:FILE::FUNCTION", quoted(handler))
}

// findPlugin finds a handler's file in a plugin's directory.
func findPlugin(dir, file string) (source, error) {
	if !filepath.IsAbs(dir) {
		return source{}, sandbox.Invalid("plugin", "%s is no absolute path of a directory", quoted(dir))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return source{}, unreadable(dir, err)
	}
	name := filepath.FromSlash(file)
	if filepath.IsAbs(name) {
		in, ok := below(dir, filepath.Clean(name))
		if !ok {
			return source{}, outsidePlugin(file)
		}
		name = in
	}
	if !filepath.IsLocal(name) {
		return source{}, outsidePlugin(file)
	}
	if err := readable(file, real, name); err != nil {
		return source{}, err
	}
	return source{dir: real, file: filepath.Clean(name)}, nil
}

func outsidePlugin(file string) error {
	return &sandbox.Error{
		Kind: sandbox.KindRefused, Op: "file " + quoted(file), Cause: errors.New("outside the plugin's directory"),
		Fix: "a handler's file lies in the plugin's own directory",
	}
}

// join and dirOf make paths as the program sees them: with slashes in a sandbox, this machine's otherwise.
func (p Place) join(dir, file string) string {
	if p.OnHost {
		return filepath.Join(dir, file)
	}
	return path.Join(dir, filepath.ToSlash(file))
}

func (p Place) dirOf(file string) string {
	if p.OnHost {
		return filepath.Dir(file)
	}
	return path.Dir(file)
}

// quoted is a name in a message, whatever it holds.
func quoted(s string) string { return strconv.Quote(short(s)) }

// checkCode refuses code that is none.
func checkCode(code string) error {
	switch {
	case strings.TrimSpace(code) == "":
		return sandbox.Invalid("", "code is required")
	case len(code) > MaxCode:
		return sandbox.Invalid("code", "%d bytes, more than %d", len(code), MaxCode)
	}
	return nil
}
