package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Check checks the source on this host; see [Mount.Resolve].
func (m Mount) Check(protected ...string) error {
	_, err := m.Resolve(protected...)
	return err
}

// Resolve checks the source against the host's places as they are now; see [Places.Resolve].
func (m Mount) Resolve(protected ...string) (string, error) {
	return LookAtPlaces().Resolve(m, protected...)
}

// Resolve validates a mount, follows the symbolic links of its source and returns where it really is, after checking
// that this place may be shown: it exists, is a directory or a regular file, is neither lexically nor by identity
// (another name, a bind mount, another case) a forbidden place, a home directory or a parent of one, is neither inside
// nor around a protected path, and holds no well-known control socket. The error is of kind [KindInvalid], or
// [KindRefused] for protected paths and sockets.
//
// What the answer is about can change before the mount is made. A backend therefore opens the returned path without
// following links and mounts what it opened.
func (h *Places) Resolve(m Mount, protected ...string) (string, error) {
	if err := m.Validate(); err != nil {
		return "", err
	}
	op := "mount " + quote(m.Source)
	if h == nil || !h.looked {
		return "", &Error{Kind: KindRefused, Op: op, Cause: errors.New("nobody has looked where this host's own places are"), Fix: "call LookAtPlaces"}
	}
	resolved, info, err := resolveSource(op, m.Source)
	if err != nil {
		return "", err
	}
	s := source{Mount: m, op: op, path: resolved, info: info}
	for _, check := range []func(*Places) error{s.checkPlaces, s.checkHomes, s.checkSockets} {
		if err := check(h); err != nil {
			return "", err
		}
	}
	for _, p := range protected {
		if err := s.checkProtected(p); err != nil {
			return "", err
		}
	}
	return resolved, nil
}

func resolveSource(op, path string) (string, fs.FileInfo, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, &Error{Kind: KindInvalid, Op: op, Cause: err, Fix: "create it first; a missing source is never made"}
	}
	if err != nil {
		return "", nil, &Error{Kind: KindInvalid, Op: op, Cause: err}
	}
	info, err := os.Lstat(resolved)
	if err != nil {
		return "", nil, &Error{Kind: KindInvalid, Op: op, Cause: err}
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return "", nil, Invalid(op, "it is neither a directory nor a regular file (%s)", info.Mode().Type())
	}
	return resolved, info, nil
}

// source is a mount whose source has been looked up.
type source struct {
	Mount
	op   string
	path string
	info fs.FileInfo
}

// checkPlaces applies the lexical rules to the resolved path and then compares identities, which catches another
// spelling on a file system that ignores case and a bind mount of a forbidden place elsewhere.
func (s source) checkPlaces(h *Places) error {
	if err := s.checkPlace(s.op, s.path); err != nil {
		return err
	}
	chain, err := ancestors(s.path)
	if err != nil {
		return &Error{Kind: KindInvalid, Op: s.op, Cause: err}
	}
	for _, p := range h.forbidden {
		if p.ifWritable && !s.Writable {
			continue
		}
		if os.SameFile(p.info, s.info) || p.below && chain.hold(p.info) {
			return invalidMount(s.op, "it is "+p.why, "mount a directory that holds only what the program needs")
		}
	}
	return nil
}

func (s source) checkHomes(h *Places) error {
	for _, home := range h.homes {
		inside, err := s.holds(home)
		if err != nil {
			return &Error{Kind: KindInvalid, Op: s.op, Cause: err}
		}
		if inside {
			return invalidMount(s.op, "it is or holds a home directory, "+quote(home.path), "mount a directory below it")
		}
	}
	return nil
}

func (s source) checkSockets(h *Places) error {
	for _, p := range h.sockets {
		inside, err := s.holds(p)
		if err != nil {
			return &Error{Kind: KindRefused, Op: s.op, Guarantee: IPCNoHostSockets, Cause: err}
		}
		if inside {
			return &Error{
				Kind: KindRefused, Op: s.op, Guarantee: IPCNoHostSockets,
				Cause: errors.New("it holds the control socket " + quote(p.path) + ", and a read-only mount does not stop a connection"),
				Fix:   "mount a directory without it",
			}
		}
	}
	return nil
}

func (s source) checkProtected(p string) error {
	refuse := func(cause error) error {
		return &Error{Kind: KindRefused, Op: s.op, Cause: cause, Fix: "keep what tools may see apart from what they may not"}
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		return refuse(err)
	}
	around, err := s.holds(lookAt(abs))
	if err != nil {
		return refuse(err)
	}
	if around {
		return refuse(errors.New("it is or holds the protected path " + quote(p)))
	}
	info, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Nothing lies inside what is not there.
	}
	if err != nil {
		return refuse(err)
	}
	chain, err := ancestors(s.path)
	if err != nil {
		return refuse(err)
	}
	if chain.hold(info) {
		return refuse(errors.New("it lies inside the protected path " + quote(p)))
	}
	return nil
}

// holds reports whether a place is the source or lies inside it, once links are followed.
func (s source) holds(p seen) (bool, error) {
	if p.resolveErr != nil {
		return false, p.resolveErr
	}
	if rel, err := filepath.Rel(s.path, p.resolved); err == nil && filepath.IsLocal(rel) {
		return true, nil
	}
	return p.chain.hold(s.info), p.chainErr
}

// nearest follows the links of p and, where its end does not exist, of the longest part that does; the rest is
// appended as it stands.
func nearest(p string) (string, error) {
	rest := ""
	for {
		resolved, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(resolved, rest), nil
		}
		parent := filepath.Dir(p)
		if !errors.Is(err, fs.ErrNotExist) || parent == p {
			return "", err
		}
		p, rest = parent, filepath.Join(filepath.Base(p), rest)
	}
}

// lineage holds a path's own file and those of the directories above it.
type lineage []fs.FileInfo

// ancestors returns the files from path up to the root. What does not exist is left out.
func ancestors(path string) (lineage, error) {
	var chain lineage
	for {
		info, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			chain = append(chain, info)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return chain, nil
		}
		path = parent
	}
}

func (l lineage) hold(info fs.FileInfo) bool {
	for _, f := range l {
		if os.SameFile(f, info) {
			return true
		}
	}
	return false
}

// environmentSockets returns the sockets that this process's environment names. They are only ever refused.
func environmentSockets() []string {
	var out []string
	if p := os.Getenv("SSH_AUTH_SOCK"); p != "" {
		out = append(out, p)
	}
	for _, name := range []string{"DOCKER_HOST", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "PODMAN_HOST"} {
		p := strings.TrimPrefix(os.Getenv(name), "unix://")
		if filepath.IsAbs(p) {
			out = append(out, p)
		}
	}
	for address := range strings.SplitSeq(os.Getenv("DBUS_SESSION_BUS_ADDRESS"), ";") {
		p, _, _ := strings.Cut(strings.TrimPrefix(address, "unix:path="), ",")
		if filepath.IsAbs(p) {
			out = append(out, p)
		}
	}
	return out
}
