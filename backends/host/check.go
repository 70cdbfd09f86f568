package host

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/soulacy/toolcell/sandbox"
)

// checkProfile refuses what the host cannot give, so that nobody believes to have it. What only limits, and is reported
// as absent in its report, is no reason: a profile has such limits always.
func checkProfile(p sandbox.ContainerProfile, r sandbox.Report) error {
	onHost := p
	onHost.Workdir = "" // a path of this machine, in its own notation
	if err := onHost.Validate(); err != nil {
		return err
	}
	if err := checkDir(p.Workdir); err != nil {
		return err
	}
	for _, f := range []struct {
		field, value string
		accepted     []string
	}{
		{"image", p.Image, []string{"", Name}},
		{"network", p.Network, []string{sandbox.NetworkNone}},
		{"runtime", p.Runtime, []string{""}},
		{"user", p.User, []string{sandbox.UserAuto}},
	} {
		if !slices.Contains(f.accepted, f.value) {
			return notHere(f.field, fmt.Errorf("%q means nothing to a program that runs on the host", f.value))
		}
	}
	if err := checkMounts(p); err != nil {
		return err
	}
	return r.Check("run", p.Require)
}

// checkMounts accepts a mount that changes nothing: writable, and at its own place.
func checkMounts(p sandbox.ContainerProfile) error {
	mounts, err := p.AllMounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.Source != m.Target {
			return notHere("mount", fmt.Errorf("%s would have to appear at %s, and nothing is mounted on the host", m.Source, m.Target))
		}
		if !m.Writable {
			return notHere("mount", fmt.Errorf("%s would have to be read-only, and nothing is on the host", m.Source))
		}
	}
	return nil
}

func notHere(op string, cause error) error {
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Cause: cause, Fix: "run this call in a sandbox, or leave the setting out"}
}

// checkDir wants an absolute path of this machine. Whether it exists is found out by going there.
func checkDir(dir string) error {
	if dir == "" || dir == sandbox.DefaultWorkdir || filepath.IsAbs(dir) && filepath.Clean(dir) == dir {
		return nil
	}
	return sandbox.Invalid("working directory", "%q is not an absolute path in its shortest form", dir)
}

func checkCommand(p sandbox.ContainerProfile, c sandbox.Command) error {
	onHost := c
	onHost.Dir = ""
	if err := onHost.ValidateFor(p.Limits); err != nil {
		return err
	}
	return checkDir(c.Dir)
}
