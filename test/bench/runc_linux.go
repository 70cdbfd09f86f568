package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// runc makes a bundle of the host's /usr and returns the subject that runs the program in it, below dir, which is the
// caller's to remove.
func runc(dir string, p program) (subject, error) {
	s := subject{name: nameRunc, peer: true, slow: true}
	path, err := absolute("runc")
	if err != nil {
		return s, err
	}
	dir = filepath.Join(dir, "runc-"+p.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, fmt.Errorf("make a bundle: %w", err)
	}
	if err := bundle(path, dir, p); err != nil {
		return s, err
	}
	state := filepath.Join(dir, "state")
	var next atomic.Int64
	s.run = func() (time.Duration, error) {
		id := "toolcell-bench-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(next.Add(1), 10)
		return capture(command([]string{path, "--root", state, "run", "--bundle", dir, id}), p)
	}
	return s, nil
}

// bundle writes what `runc spec` proposes, with the host's programs mounted read-only and the program in it.
func bundle(runc, dir string, p program) error {
	argv := []string{runc, "spec", "--bundle", dir}
	if os.Geteuid() != 0 {
		argv = append(argv, "--rootless")
	}
	if out, err := command(argv).CombinedOutput(); err != nil {
		return fmt.Errorf("make a bundle: %w: %s", err, out)
	}
	if err := usrMerged(filepath.Join(dir, "rootfs")); err != nil {
		return fmt.Errorf("make a bundle's root: %w", err)
	}
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	b, err = editSpec(b, p)
	if err != nil {
		return fmt.Errorf("edit the bundle: %w", err)
	}
	return os.WriteFile(path, b, 0o600)
}

// usrMerged makes a root whose top is links into /usr.
func usrMerged(root string) error {
	if err := os.MkdirAll(filepath.Join(root, "usr"), 0o755); err != nil {
		return err
	}
	for _, d := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+d, filepath.Join(root, d)); err != nil {
			return err
		}
	}
	return nil
}

func editSpec(b []byte, p program) ([]byte, error) {
	var spec, process map[string]json.RawMessage
	if err := json.Unmarshal(b, &spec); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(spec["process"], &process); err != nil {
		return nil, err
	}
	var mounts []json.RawMessage
	if err := json.Unmarshal(spec["mounts"], &mounts); err != nil {
		return nil, err
	}
	args, err := json.Marshal(p.argv)
	if err != nil {
		return nil, err
	}
	process["args"], process["terminal"] = args, json.RawMessage("false")
	mounts = append(mounts, json.RawMessage(`{"destination":"/usr","type":"bind","source":"/usr","options":["rbind","ro","nosuid","nodev"]}`))
	if spec["process"], err = json.Marshal(process); err != nil {
		return nil, err
	}
	if spec["mounts"], err = json.Marshal(mounts); err != nil {
		return nil, err
	}
	return json.Marshal(spec)
}
