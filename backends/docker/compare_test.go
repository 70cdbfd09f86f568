package docker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/sandbox"
)

// A mount that nobody asked for is a difference, whatever it says of its type, which the specification lets a bind leave out.
func TestCompareOCIMounts(t *testing.T) {
	c := container{dialect: dialectNerdctl, local: true, helper: "/helper"}
	c.profile = sandbox.ContainerProfile{}.WithDefaults()
	tmpfs := func(target, options string) ociMount {
		return ociMount{Destination: target, Type: "tmpfs", Options: []string{options}}
	}
	asked := []ociMount{
		{Destination: "/proc", Type: "proc"}, {Destination: "/sys", Type: "sysfs", Options: []string{"ro"}},
		{Destination: helper.InitPath, Type: "bind", Source: "/helper", Options: []string{"ro"}},
	}
	for _, target := range []string{"/tmp", "/dev/shm"} {
		asked = append(asked, tmpfs(target, c.tmpfs(target)[len(target)+1:]))
	}
	asked = append(asked, tmpfs(messageQueues, "ro"))
	compare := func(mounts []ociMount) error {
		d := &differences{}
		c.compareOCIMounts(d, mounts)
		return d.err()
	}
	require.NoError(t, compare(asked))
	for _, m := range []ociMount{
		{Destination: "/host", Type: "bind", Source: "/"}, {Destination: "/host", Source: "/", Options: []string{"rbind"}}, {Destination: "/proc", Source: "/proc", Options: []string{"rbind"}},
	} {
		assert.ErrorIs(t, compare(append(asked[:len(asked):len(asked)], m)), sandbox.ErrRefused, "%+v", m)
	}
}

// A network namespace of its own says nothing about what it is connected to.
func TestCompareOCINetworks(t *testing.T) {
	c := container{dialect: dialectNerdctl, profile: sandbox.ContainerProfile{}.WithDefaults()}
	for networks, refused := range map[string]bool{`["none"]`: false, `["bridge"]`: true, `["none","bridge"]`: true, `["host"]`: true, "": true} {
		b := &bundle{Labels: map[string]string{"nerdctl/networks": networks}}
		for _, name := range []string{"pid", "ipc", "uts", "mount", "network", "cgroup"} {
			b.Spec.Linux.Namespaces = append(b.Spec.Linux.Namespaces, struct{ Type, Path string }{Type: name})
		}
		b.Spec.Linux.MaskedPaths, b.Spec.Linux.ReadonlyPaths = []string{"/proc/kcore", "/proc/keys"}, []string{"/proc/sys"}
		d := &differences{}
		c.compareOCINamespaces(d, b)
		assert.Equal(t, refused, len(d.list) == 1 && d.list[0].guarantee == sandbox.NetNone, "%s: %+v", networks, d.list)
		assert.Equal(t, refused, d.err() != nil, networks)
	}
}

// Where the engine's mount option is what forbids execution, a mount without it is another than was asked for.
func TestComparePodmanNoexec(t *testing.T) {
	c := goldenContainer(dialectPodman)
	for options, refused := range map[string]bool{"noexec": false, "bind": true} {
		m := &made{}
		for target, w := range c.wantedMounts() {
			m.Mounts = append(m.Mounts, madeMount{Type: "bind", Source: w.Source, Destination: target, RW: w.Writable, Options: []string{options}})
		}
		d := &differences{}
		c.compareFiles(d, m)
		found := slices.Contains(d.list, difference{sandbox.FSNoexecScratch, `programs on the mount at "/in" can be executed`})
		assert.Equal(t, refused, found, "%q: %+v", options, d.list)
	}
}
