package machine

import (
	"context"
	"fmt"
	"path/filepath"
)

// Kernel is one of Debian's kernels.
type Kernel string

// The kernels.
const (
	// Linux6_1 is the kernel of Debian 12.
	Linux6_1 Kernel = "6.1"
	// Linux6_12 is the kernel of Debian 13, as Debian 12's backports have it.
	Linux6_12 Kernel = "6.12"
)

// metaKernel stands for the latest kernel of a suite, without drivers for what no virtual machine has.
const metaKernel = "linux-image-cloud-amd64"

// Kernel returns the path of a kernel's image.
func (c *Cache) Kernel(ctx context.Context, k Kernel) (string, error) {
	from, ok := map[Kernel]string{Linux6_1: suite, Linux6_12: backports}[k]
	if !ok {
		return "", fmt.Errorf("unknown kernel %q", k)
	}
	at, err := c.make("linux-"+string(k), func(at string) error {
		a, err := c.apt(ctx)
		if err != nil {
			return err
		}
		name, err := a.dependency(ctx, metaKernel, from)
		if err != nil {
			return err
		}
		return a.unpack(ctx, name, from, at)
	})
	if err != nil {
		return "", err
	}
	images, err := filepath.Glob(filepath.Join(at, "boot", "vmlinuz-"+string(k)+".*"))
	if err != nil || len(images) != 1 {
		return "", fmt.Errorf("kernel %s: got %q", k, images)
	}
	return images[0], nil
}
