package sandbox

import (
	"io/fs"
	"os"
)

// Places are those of this host that a mount's source is checked against, as they were when [LookAtPlaces] looked: the
// forbidden ones, home directories and control sockets. To look takes some hundred system calls; whoever checks many mounts
// can keep a Places for a moment. The zero value has not looked, and refuses every mount.
type Places struct {
	looked    bool
	forbidden []forbiddenPlace
	homes     []seen
	sockets   []seen
}

// LookAtPlaces looks where the host's places are.
func LookAtPlaces() *Places {
	h := &Places{looked: true}
	for _, p := range forbiddenSources() {
		if info, err := os.Stat(p.path); err == nil { // a place that is not there cannot be shown
			h.forbidden = append(h.forbidden, forbiddenPlace{p, info})
		}
	}
	for _, home := range homes() {
		h.homes = append(h.homes, lookAt(home))
	}
	for _, p := range controlSockets() {
		if info, err := os.Stat(p); err == nil && info.Mode().Type() == fs.ModeSocket {
			h.sockets = append(h.sockets, lookAt(p))
		}
	}
	return h
}

type forbiddenPlace struct {
	place
	info fs.FileInfo
}

// seen is where a path leads, once links are followed, and the files on the way. For one that does not exist the nearest
// ancestor that does decides.
type seen struct {
	path, resolved       string
	chain                lineage
	resolveErr, chainErr error
}

func lookAt(path string) seen {
	s := seen{path: path}
	if s.resolved, s.resolveErr = nearest(path); s.resolveErr == nil {
		s.chain, s.chainErr = ancestors(s.resolved)
	}
	return s
}
