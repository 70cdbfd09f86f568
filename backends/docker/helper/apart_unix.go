//go:build !windows

package helper

import (
	"os"
	"os/exec"
	"syscall"
)

// apart takes a command out of its caller's session, so that no terminal's signal meant for the caller reaches it.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
}

// ignored are the signals that ask a program to end.
func ignored() []os.Signal {
	return []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE}
}
