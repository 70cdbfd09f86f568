package native

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/probe"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/seccomp"
)

// imageCache keeps resolved images for a moment: a host's programs change, but not between two calls of a burst.
type imageCache struct {
	mu      sync.Mutex
	entries map[string]imageEntry
}

type imageEntry struct {
	image *rootfs.Image
	until time.Time
}

const imageLife = 5 * time.Second

func (c *imageCache) get(name string, config Config) (*rootfs.Image, error) {
	if name == "" {
		name = imageHost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[name]; ok && time.Now().Before(e.until) {
		return e.image, nil
	}
	image, err := resolveImage(name, config)
	if err == nil {
		err = showsProtected(image, config.Protected)
	}
	if err != nil {
		return nil, err
	}
	if c.entries == nil {
		c.entries = make(map[string]imageEntry)
	}
	c.entries[name] = imageEntry{image: &image, until: time.Now().Add(imageLife)}
	return &image, nil
}

// imageHost is the image that is this machine's own programs.
const imageHost = sandbox.ImageHost

func resolveImage(name string, config Config) (rootfs.Image, error) {
	target, ok := config.Images[name]
	switch {
	case !ok && name == imageHost, target == imageHost:
		image, err := rootfs.Host()
		return image, hostError(err)
	case !ok:
		return rootfs.Image{}, &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "image", Cause: fmt.Errorf("%q is not known, and nothing is ever fetched inside a call", name),
			Fix: `use "host", or let the operator give the name in runtime.sandbox.images, as "host" or as an unpacked root directory`,
		}
	default:
		return rootfs.Directory(name, target, config.Protected...)
	}
}

// hostError says that this machine's own programs could not be looked at.
func hostError(err error) error {
	if own := (*sandbox.Error)(nil); err == nil || errors.As(err, &own) {
		return err
	}
	var fix string
	if errors.Is(err, unix.ENOSYS) {
		fix = "openat2(2), Linux 5.6, is missing, or filtered away by the sandbox or container that this runs in; user namespaces are then mostly forbidden too"
	}
	return unavailable("look at this machine's programs", err, fix)
}

// showsProtected refuses an image that would show what the operator protects.
func showsProtected(image rootfs.Image, protected []string) error {
	for _, p := range protected {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			real = filepath.Clean(p) // what does not exist yet is protected by its name
		}
		if b, shown := image.Shows(real); shown {
			return &sandbox.Error{
				Kind: sandbox.KindRefused, Op: "image " + image.Name, Guarantee: sandbox.FSNoHostFiles,
				Cause: fmt.Errorf("%s, which is protected, lies in %s", p, b.Source), Fix: "move it elsewhere, or use another image",
			}
		}
	}
	return nil
}

// kernelCache keeps for a moment what no filter can change.
type kernelCache struct {
	mu     sync.Mutex
	kernel confine.Kernel
	until  time.Time
}

// get returns what the kernel can. What an outer filter could have taken away is asked anew for each call.
func (c *kernelCache) get() (confine.Kernel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		probe.Refresh(&c.kernel)
		return c.kernel, nil
	}
	k, err := probe.Kernel()
	if err != nil {
		return k, &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "probe the kernel", Cause: err}
	}
	c.kernel, c.until = k, time.Now().Add(imageLife)
	return k, nil
}

// filterCache keeps the seccomp programs, which never change.
type filterCache struct {
	mu       sync.Mutex
	programs map[seccomp.Options][]byte
}

func (c *filterCache) get(o seccomp.Options) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.programs[o]; ok {
		return p, nil
	}
	p, err := seccomp.Program(runtime.GOARCH, o)
	if err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "choose the seccomp filter", Guarantee: sandbox.KernelSeccomp, Cause: err}
	}
	if c.programs == nil {
		c.programs = make(map[seccomp.Options][]byte)
	}
	c.programs[o] = p
	return p, nil
}
