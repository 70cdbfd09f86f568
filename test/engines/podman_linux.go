package engines

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Podman's two files. It needs no daemon; a storage of its own keeps it apart from the machine's. crun refuses a host whose
// controllers are still on v1 beside a mounted v2 ("cgroups in hybrid mode not supported"), runc does not. What
// conmon runs when a container ends gets tmp_dir, but not static_dir: with one of its own it would not find the container, and
// every run would wait 20 s for it.
const (
	containersConf = `[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = %q
`
	storageConf = `[storage]
driver = %q
graphroot = %q
runroot = %q
`
)

// podmanCgroup is where podman puts its containers when it is given no other parent.
const podmanCgroup = "/libpod_parent"

// startPodman makes podman's storage.
func startPodman() (e *Engine, err error) {
	client, err := find("podman", "podman")
	if err != nil {
		return nil, err
	}
	if _, err := find("runc", "runc"); err != nil {
		return nil, err
	}
	dir, err := newDir(Podman)
	if err != nil {
		return nil, err
	}
	e, err = newPodman(client, dir)
	if err == nil {
		_, err = e.output("info")
	}
	if err != nil {
		return nil, errors.Join(err, clean(dir, ""))
	}
	return e, nil
}

// newPodman returns podman with everything below dir.
func newPodman(client, dir string) (*Engine, error) {
	at := func(name string) string { return filepath.Join(dir, name) }
	conf := fmt.Sprintf(containersConf, at("tmp"))
	if err := os.WriteFile(at("containers.conf"), []byte(conf), 0o644); err != nil {
		return nil, err
	}
	storage := fmt.Sprintf(storageConf, "overlay", at("data"), at("run"))
	if err := os.WriteFile(at("storage.conf"), []byte(storage), 0o644); err != nil {
		return nil, err
	}
	e := &Engine{Kind: Podman, Binary: client, Dir: dir, Env: []string{
		"CONTAINERS_CONF=" + at("containers.conf"), "CONTAINERS_STORAGE_CONF=" + at("storage.conf"),
	}}
	e.stop = func() error { return errors.Join(e.removeAll(), clean(dir, ""), removeSharedCgroup(podmanCgroup)) }
	return e, nil
}
