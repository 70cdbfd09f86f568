package rootfs

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// Interpreter is an interpreter of the host that may live outside the host image.
type Interpreter struct {
	// Exe is the path to start, the same inside as on the host.
	Exe string
	// Prefixes are the directories that have to be bound, executable, at their own paths. What the host image shows
	// anyway is not among them. Empty for an interpreter that is part of the system.
	Prefixes []string
	// Links are symbolic links on the way from Exe to the files that lie in no prefix and have to be made.
	Links []Link
}

// ResolveInterpreter finds out what an interpreter consists of, by looking at files; nothing is run. It knows version
// managers' shims (a directory "shims" beside "versions" with a version file, or beside "installs"), Python's virtual
// environments, chains of symbolic links, and scripts. The prefix of a program in .../bin is the directory above; of
// one elsewhere its own. A prefix that a mount could not show either (see [sandbox.Mount.Check]), or that holds people's
// credentials beside the interpreter, is refused. protected are paths that no mount may show. Errors are of kind
// [sandbox.KindInvalid] or [sandbox.KindRefused].
func ResolveInterpreter(file string, protected ...string) (Interpreter, error) {
	r := resolver{op: fmt.Sprintf("interpreter %q", file), protected: protected}
	if !path.IsAbs(file) || path.Clean(file) != file {
		return Interpreter{}, sandbox.Invalid(r.op, "it is not an absolute path in its shortest form")
	}
	if err := r.follow(file); err != nil {
		return Interpreter{}, err
	}
	return r.result(), nil
}

// maxLinks is how many links are followed; the kernel's own limit (path_resolution(7)).
const maxLinks = 40

type resolver struct {
	op string
	// exe is the path to start, once it is known; name is what it would be if the current link ended there.
	exe, name string
	prefixes  []string
	links     []Link
	// protected are paths that no prefix may show.
	protected []string
	// scripts counts the scripts on the way to a binary.
	scripts int
}

// follow goes from p through links and shims to the file that is run.
func (r *resolver) follow(p string) error {
	for range maxLinks {
		parent, base := path.Split(p)
		dir, err := r.trace(parent)
		if err != nil {
			return r.invalid(err)
		}
		p = path.Join(dir, base)
		if r.name == "" || prefixOf(path.Dir(r.name)) != prefixOf(dir) {
			// A link within an installation is kept, since programs of several names look at the one they have.
			r.name = p
		}
		info, err := os.Lstat(p)
		if err != nil {
			return r.invalid(err)
		}
		if next, ok, err := shimTarget(p); err != nil {
			return r.invalid(err)
		} else if ok {
			p, r.name = next, ""
			continue
		}
		if err := r.environment(p); err != nil {
			return err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			return r.program(p, info)
		}
		if p, err = r.step(p); err != nil {
			return r.invalid(err)
		}
	}
	return sandbox.Invalid(r.op, "more than %d links or shims lead to each other", maxLinks)
}

// step follows the link p once.
func (r *resolver) step(p string) (string, error) {
	text, err := os.Readlink(p)
	if err != nil {
		return "", err
	}
	r.links = append(r.links, Link{Path: p, Target: text})
	if path.IsAbs(text) {
		return text, nil
	}
	return path.Dir(p) + "/" + text, nil // Not cleaned: trace has to see each "..".
}

// trace returns dir without symbolic links and remembers those that it followed. Unlike path.Clean it takes ".." as
// the kernel does.
func (r *resolver) trace(dir string) (string, error) {
	rest := strings.Split(dir, "/")
	real := "/"
	for n := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." || name == ".." {
			real = path.Join(real, name)
			continue
		}
		next := path.Join(real, name)
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode().Type() != fs.ModeSymlink {
			real = next
			continue
		}
		if n++; n > maxLinks {
			return "", fmt.Errorf("%q: too many symbolic links", dir)
		}
		text, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		r.links = append(r.links, Link{Path: next, Target: text})
		if path.IsAbs(text) {
			real = "/"
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return real, nil
}

// environment adds the virtual environment that p is the python of, if any, and the installation it was made from.
// The environment's own path has to be started, since Python finds it from there.
func (r *resolver) environment(p string) error {
	dir := path.Dir(p)
	root := path.Dir(dir)
	cfg, err := os.Open(path.Join(root, "pyvenv.cfg"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && inHostImage(root) {
		return nil
	}
	if err != nil {
		return r.invalid(err)
	}
	defer cfg.Close()
	r.start(p)
	if err := r.addPrefix(root); err != nil {
		return err
	}
	home, err := venvHome(cfg)
	if err != nil {
		return r.invalid(err)
	}
	home, err = r.trace(home)
	if err != nil {
		return r.invalid(fmt.Errorf("the installation that the environment was made from: %w", err))
	}
	return r.addPrefix(prefixOf(home))
}

// start makes p, whose directory has no links, the path to start, unless there is one. The links that led to it are
// then of no use inside.
func (r *resolver) start(p string) {
	if r.exe == "" {
		r.exe, r.links = p, nil
	}
}

// venvHome returns the "home" of a pyvenv.cfg (PEP 405): the directory of the base installation's python.
func venvHome(cfg io.Reader) (string, error) {
	for lines := bufio.NewScanner(io.LimitReader(cfg, 64<<10)); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), "home") {
			continue
		}
		if value = strings.TrimSpace(value); !path.IsAbs(value) {
			return "", fmt.Errorf("pyvenv.cfg: home %q is not an absolute path", value)
		}
		return value, nil
	}
	return "", errors.New("pyvenv.cfg: no home")
}

// program adds the file that is run in the end.
func (r *resolver) program(p string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return sandbox.Invalid(r.op, "%q: %w", p, sandbox.ErrNotExecutable)
	}
	r.start(r.name)
	if err := r.addPrefix(prefixOf(path.Dir(p))); err != nil {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return r.invalid(err)
	}
	defer f.Close()
	head := make([]byte, 256) // BINPRM_BUF_SIZE, include/uapi/linux/binfmts.h
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return r.invalid(err)
	}
	if line, ok := bytes.CutPrefix(head[:n], []byte("#!")); ok {
		return r.script(line)
	}
	if !bytes.HasPrefix(head[:n], []byte(elf.ELFMAG)) {
		return sandbox.Invalid(r.op, "%q: %w: it is neither a binary nor a script", p, sandbox.ErrNotExecutable)
	}
	return r.checkLoader(f)
}

// script follows the interpreter that a script names in its first line.
func (r *resolver) script(line []byte) error {
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := bytes.Fields(line)
	if len(words) == 0 || !path.IsAbs(string(words[0])) {
		return sandbox.Invalid(r.op, "it is a script without the absolute path of its own interpreter")
	}
	// The kernel allows five (fs/exec.c, exec_binprm).
	if r.scripts++; r.scripts > 5 {
		return sandbox.Invalid(r.op, "scripts interpret each other")
	}
	return r.follow(path.Clean(string(words[0])))
}

// checkLoader refuses a binary whose dynamic loader the sandbox would not have, as on systems that keep every package
// in a store of its own.
func (r *resolver) checkLoader(f io.ReaderAt) error {
	bin, err := elf.NewFile(f)
	if err != nil {
		return nil // The kernel needs no section table; it will judge.
	}
	for _, p := range bin.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > pathMax {
			continue
		}
		name, err := io.ReadAll(p.Open())
		if err != nil {
			return r.invalid(err)
		}
		loader := strings.TrimRight(string(name), "\x00")
		if !inHostImage(loader) && !r.covers(loader) {
			return &sandbox.Error{
				Kind: sandbox.KindInvalid, Op: r.op, Cause: fmt.Errorf("it needs the loader %q, which would not be inside", loader),
				Fix: "use an interpreter that is built for this system, or an image",
			}
		}
	}
	return nil
}

const pathMax = 4096

// prefixOf returns the installation that a directory of programs belongs to.
func prefixOf(dir string) string {
	switch path.Base(dir) {
	case "bin", "sbin":
		return path.Dir(dir)
	}
	return dir
}

// addPrefix adds a directory without symbolic links, after checking that it may be shown.
func (r *resolver) addPrefix(dir string) error {
	if inHostImage(dir) || r.covers(dir) {
		return nil
	}
	if err := (sandbox.Mount{Source: dir, Target: dir, Exec: true}).Check(r.protected...); err != nil {
		return fmt.Errorf("%s: its prefix: %w", r.op, err)
	}
	for _, name := range credentials {
		_, err := os.Lstat(path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: r.op, Cause: fmt.Errorf("its prefix %q also holds %s", dir, name),
			Fix: "install the interpreter in a directory of its own",
		}
	}
	if slices.Contains(personal, path.Base(dir)) {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: r.op, Cause: fmt.Errorf("its prefix %q is a directory of personal data", dir),
			Fix: "install the interpreter in a directory of its own",
		}
	}
	r.prefixes = append(r.prefixes, dir)
	return nil
}

// personal are directories in which programs keep a person's data (XDG Base Directory Specification).
var personal = []string{".local", ".config", ".cache"}

// credentials are what people keep secrets in, by the name it would have below a prefix that is too wide.
var credentials = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".config/gcloud",
	"share/keyrings", "keyrings", "credentials", "credentials.toml",
}

// covers reports whether a prefix holds p.
func (r *resolver) covers(p string) bool {
	return slices.ContainsFunc(r.prefixes, func(dir string) bool { return p == dir || isBelow(p, dir) })
}

// inHostImage reports whether the host image shows p.
func inHostImage(p string) bool {
	return slices.ContainsFunc(programDirs, func(dir string) bool { return p == dir || isBelow(p, dir) })
}

// result keeps the outermost prefixes and the links that lie in none of them.
func (r *resolver) result() Interpreter {
	out := Interpreter{Exe: r.exe}
	for _, p := range r.prefixes {
		inner := slices.ContainsFunc(r.prefixes, func(dir string) bool { return isBelow(p, dir) })
		if !inner && !slices.Contains(out.Prefixes, p) {
			out.Prefixes = append(out.Prefixes, p)
		}
	}
	slices.Sort(out.Prefixes)
	for _, l := range r.links {
		// Links of /etc are the host image's business (alternatives).
		if !inHostImage(l.Path) && !isBelow(l.Path, "/etc") && !r.covers(l.Path) && !slices.Contains(out.Links, l) {
			out.Links = append(out.Links, l)
		}
	}
	return out
}

func (r *resolver) invalid(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", sandbox.ErrNotFound, err)
	}
	return sandbox.Invalid(r.op, "%w", err)
}
