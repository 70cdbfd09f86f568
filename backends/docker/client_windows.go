package docker

import (
	"os/exec"
	"syscall"
)

// detach keeps the console's interrupt from the command: the caller decides what an interrupt means.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// workDir leaves the caller's own.
func workDir() string { return "" }
