//go:build !windows

package tools

import (
	"fmt"
	"os"

	"github.com/soulacy/toolcell/sandbox"
)

// giveTo makes a directory writable for the user that the program runs as. An ordinary caller's program is the caller
// on every backend, so only root has to change the owner.
func giveTo(dir string, user sandbox.UserSpec) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := int(user.UID), int(user.GID)
	if user.Auto {
		uid, gid = insideID, insideID
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return fmt.Errorf("give the directory to the program's user: %w", err)
	}
	return nil
}
