//go:build !windows

package docker

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's interrupt from the command: the caller decides what an interrupt means.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// workDir is a directory that cannot vanish under the command.
func workDir() string { return "/" }
