package engines

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// nerdctlVersion is built when the machine has no nerdctl: a static program of 42 MB, in two minutes the first time.
const nerdctlVersion = "v2.1.2"

// nerdctlModule is the main package, and the module that requires exactly its version.
const (
	nerdctlPackage = "github.com/containerd/nerdctl/v2/cmd/nerdctl"
	nerdctlModule  = "module nerdctl\n\ngo 1.26\n\nrequire github.com/containerd/nerdctl/v2 %s\n"
)

const nerdctlToml = `address = %q
namespace = %q
data_root = %q
cni_path = %q
cni_netconfpath = %q
cgroup_manager = "cgroupfs"
`

// startNerdctl points nerdctl at docker's containerd, in a namespace of its own.
func startNerdctl(docker *Engine) (*Engine, error) {
	client, err := buildNerdctl()
	if err != nil {
		return nil, err
	}
	dir, err := newDir(Nerdctl)
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	address := filepath.Join(docker.Dir, "exec", "containerd", "containerd.sock")
	namespace := filepath.Base(dir)
	conf := fmt.Sprintf(nerdctlToml, address, namespace, at("data"), at("cni"), at("net"))
	if err := os.WriteFile(at("nerdctl.toml"), []byte(conf), 0o644); err != nil {
		return nil, errors.Join(err, clean(dir, ""))
	}
	e := &Engine{Kind: Nerdctl, Binary: client, Dir: dir, Env: []string{"NERDCTL_TOML=" + at("nerdctl.toml")}}
	e.stop = func() error { return errors.Join(e.removeAll(), clean(dir, "/"+namespace)) }
	if _, err := e.output("info"); err != nil {
		return nil, errors.Join(err, clean(dir, ""))
	}
	return e, nil
}

// buildNerdctl returns the path of the built nerdctl. The version is fixed by a module of its own, so that nothing of it is
// a requirement of this one.
func buildNerdctl() (string, error) {
	return cached("nerdctl-"+nerdctlVersion, func(to string) error {
		dir, err := os.MkdirTemp("", "toolcell-nerdctl-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		mod := fmt.Sprintf(nerdctlModule, nerdctlVersion)
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
			return err
		}
		return build(dir, "go", "build", "-mod=mod", "-o", to, nerdctlPackage)
	})
}
