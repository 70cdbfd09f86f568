package cgroup

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// place is one hierarchy as this process sees it.
type place struct {
	v2          bool
	mount       string   // where it is mounted
	root        string   // the directory of the hierarchy that is visible there
	own         string   // this process's own cgroup, relative to mount and beginning with "/"
	controllers []string // v1: what the hierarchy controls, as /proc/self/cgroup has it
}

var errHidden = errors.New("this process's own cgroup lies outside what is mounted")

// relative returns the part of p below root, both as the kernel prints them for the reader's cgroup namespace. Either may
// begin with "/.." when it lies above that namespace's root; a path can then be named only if root goes up as far.
func relative(root, p string) (string, error) {
	root = strings.TrimSuffix(root, "/")
	rest, found := strings.CutPrefix(p, root)
	if !found || (rest != "" && rest[0] != '/') || slices.Contains(strings.Split(rest, "/"), "..") {
		return "", fmt.Errorf("cgroup %q seen from %q: %w", p, root, errHidden)
	}
	return path.Clean("/" + rest), nil
}

// locate finds where the hierarchy of m is mounted. A mount that can be written is preferred, then the last one.
func locate(mounts []mount, m membership) (place, error) {
	err := fmt.Errorf("cgroup hierarchy %q: not mounted", strings.Join(m.controllers, ","))
	var best *mount
	var own string
	for i, candidate := range mounts {
		if !candidate.shows(m) || (best != nil && !best.readOnly && candidate.readOnly) {
			continue
		}
		rel, hidden := relative(candidate.root, m.path)
		if hidden != nil {
			err = hidden
			continue
		}
		best, own = &mounts[i], rel
	}
	if best == nil {
		return place{}, err
	}
	return place{v2: m.v2, mount: best.point, root: best.root, own: own, controllers: m.controllers}, nil
}

// shows reports whether the mount is of the membership's hierarchy.
func (m mount) shows(of membership) bool {
	if m.v2 || of.v2 {
		return m.v2 == of.v2
	}
	for _, c := range of.controllers {
		if !slices.Contains(m.controllers, c) {
			return false
		}
	}
	return len(of.controllers) > 0
}

// base returns the directory below which the instance's directory belongs: the parent when one is given, else the
// process's own cgroup.
func (p place) base(parent string) (string, error) {
	if parent == "" {
		return path.Join(p.mount, p.own), nil
	}
	if strings.IndexByte(parent, 0) >= 0 || slices.Contains(strings.Split(parent, "/"), "..") {
		return "", fmt.Errorf("cgroup parent %q: it may not go up", parent)
	}
	return path.Join(p.mount, parent), nil
}
