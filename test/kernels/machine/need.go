package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// tools are the programs that machines are made with, and Debian's packages that bring them.
var tools = []struct{ program, pkg string }{
	{emulator, "qemu-system-x86"}, {"debootstrap", "debootstrap"}, {"mke2fs", "e2fsprogs"},
	{"dpkg-deb", "dpkg"}, {"apt-get", "apt"}, {keyring, "debian-archive-keyring"},
}

// Need installs what is missing, as root on Debian, or says what is.
func Need(ctx context.Context) error {
	var missing []string
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err == nil {
			continue
		}
		if _, err := os.Stat(t.program); err != nil {
			missing = append(missing, t.pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	install := append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends"}, missing...)
	if os.Geteuid() != 0 {
		return fmt.Errorf("missing; as root: %s", strings.Join(install, " "))
	}
	if _, err := output(ctx, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	_, err := output(ctx, install...)
	return err
}
