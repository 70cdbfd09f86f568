package machine

import (
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

// Need says which tools are missing, and how to install them. test/packages.sh does when TOOLCELL_TEST_KERNELS=1.
func Need() error {
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
	return fmt.Errorf("missing; as root: apt-get install %s", strings.Join(missing, " "))
}
