package dockerargs

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// NativeRuntime is the name that `info` lists and --runtime takes for the native backend.
const NativeRuntime = "toolcell"

func setNetwork(s *state, spelled, value string) error {
	switch value {
	case sandbox.NetworkNone:
		s.inv.Profile.Network = value
		return nil
	case "":
		return invalid(spelled, "the value is empty", "use none")
	default:
		return refused(spelled, sandbox.NetNone, fmt.Sprintf("%q is a network", value), "use none: the network is the operator's to grant")
	}
}

func setRuntime(s *state, spelled, value string) error {
	if value == "" {
		return invalid(spelled, "the value is empty", "")
	}
	if value != NativeRuntime {
		s.inv.Profile.Runtime = value
	}
	return nil
}

func setUser(s *state, spelled, value string) error {
	uid, gid, _ := strings.Cut(value, ":")
	if uid == "0" || uid == "root" || gid == "0" || gid == "root" {
		return refused(spelled, sandbox.PrivNonroot, fmt.Sprintf("%q is root", value), "use UID:GID with neither 0, or leave it out")
	}
	if value == "" {
		return invalid(spelled, "the value is empty", "use UID:GID or leave it out")
	}
	if _, err := sandbox.ParseUser(value); err != nil {
		return err
	}
	s.inv.Profile.User = value
	return nil
}

func setCapDrop(_ *state, spelled, value string) error {
	if strings.EqualFold(value, "ALL") {
		return nil
	}
	return invalid(spelled, fmt.Sprintf("%q: capabilities are dropped together", value), "use ALL or leave it out")
}

func setSecurityOpt(_ *state, spelled, value string) error {
	switch strings.Replace(value, "=", ":", 1) {
	case "no-new-privileges", "no-new-privileges:true":
		return nil
	case "no-new-privileges:false":
		return refused(spelled, sandbox.PrivNoNewPrivileges, "it cannot be turned off", "leave it out")
	}
	name, _, _ := strings.Cut(value, "=")
	if name == "seccomp" {
		return refused(spelled, sandbox.KernelSeccomp, "the system call filter cannot be replaced", "leave it out")
	}
	return invalid(spelled, fmt.Sprintf("%q is not taken", value), "use no-new-privileges or leave it out")
}

func setVolume(s *state, spelled, value string) error {
	if _, err := sandbox.ParseMount(value); err != nil {
		return err
	}
	s.inv.Profile.Mounts = append(s.inv.Profile.Mounts, value)
	return nil
}

// setMount reads one CSV record of key=value fields.
func setMount(s *state, spelled, value string) error {
	// encoding/csv drops a CR before LF even inside quotes, so such a path would silently become another.
	if strings.Contains(value, "\r\n") {
		return invalid(spelled, "a path with CR LF cannot be written in CSV", "rename it")
	}
	r := csv.NewReader(strings.NewReader(value))
	fields, err := r.Read()
	if err != nil {
		return invalid(spelled, fmt.Sprintf("%q is no CSV record", value), "write type=bind,source=/host,target=/inside")
	}
	if _, err := r.Read(); err != io.EOF {
		return invalid(spelled, "more than one line", "quote a field that holds a newline")
	}
	m := mountValue{Mount: sandbox.Mount{Writable: true, Exec: true}} // an engine's meaning, and that of -v
	for _, f := range fields {
		key, val, given := strings.Cut(f, "=")
		if err := m.set(spelled, key, operand{val, given}); err != nil {
			return err
		}
	}
	if m.kind != "bind" {
		return invalid(spelled, fmt.Sprintf("type %q is not taken", m.kind), "write type=bind")
	}
	if err := m.Validate(); err != nil {
		return err
	}
	s.inv.Profile.Binds = append(s.inv.Profile.Binds, m.Mount)
	return nil
}

// mountValue is a --mount being read.
type mountValue struct {
	sandbox.Mount
	kind string
}

func (m *mountValue) set(spelled, key string, v operand) error {
	switch key {
	case "type":
		m.kind = v.value
	case "source", "src":
		m.Source = v.value
	case "target", "destination", "dst":
		m.Target = v.value
	case "readonly", "ro":
		on, err := v.bool(spelled + " " + key)
		m.Writable = !on
		return err
	case "noexec":
		on, err := v.bool(spelled + " " + key)
		m.Exec = !on
		return err
	case "bind-propagation":
		if v.value != "rprivate" && v.value != "private" {
			return refused(spelled+" "+key, sandbox.FSNoHostFiles, "mounts never pass between host and sandbox", "use rprivate or leave it out")
		}
	case "bind-recursive":
		return m.setRecursive(spelled+" "+key, v.value)
	default:
		return invalid(spelled, fmt.Sprintf("the key %q is not taken", key),
			"use type, source, target, readonly, noexec, bind-recursive or bind-propagation")
	}
	return nil
}

func (m *mountValue) setRecursive(op, value string) error {
	switch value {
	case "disabled":
		m.Recursive = false
	case "enabled", "readonly":
		m.Recursive = true
	default:
		return invalid(op, fmt.Sprintf("%q is not taken", value), "use enabled, readonly or disabled")
	}
	return nil
}

// bool reads a key that may stand alone for true.
func (v operand) bool(op string) (bool, error) {
	if !v.inline {
		return true, nil
	}
	return parseBool(op, v.value)
}

// setTmpfs reads PATH[:option,…]. The only path is the scratch.
func setTmpfs(s *state, spelled, value string) error {
	path, options, _ := strings.Cut(value, ":")
	if path != "/tmp" {
		return invalid(spelled, fmt.Sprintf("%q: the scratch is /tmp", path), "use /tmp; --shm-size sizes /dev/shm")
	}
	for o := range strings.SplitSeq(options, ",") {
		if err := setTmpfsOption(s, spelled, o); err != nil {
			return err
		}
	}
	return nil
}

func setTmpfsOption(s *state, spelled, option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	op := spelled + " " + name
	switch name {
	case "", "rw", "noexec", "nosuid", "nodev":
		return nil
	case "size":
		s.inv.Profile.TmpfsMB, err = parseUnits(op, value, mib)
		return err
	case "mode":
		if n, perr := strconv.ParseUint(value, 8, 32); perr != nil || n != 0o1777 {
			return invalid(op, fmt.Sprintf("%q: the scratch is 1777", value), "use 1777 or leave it out")
		}
		return nil
	case "exec":
		return refused(op, sandbox.FSNoexecScratch, "programs on the scratch are not run",
			"use noexec, and mount a directory for programs that must be built and run")
	default:
		return invalid(op, "this option is not taken", "use rw, noexec, nosuid, nodev, size or mode")
	}
}
