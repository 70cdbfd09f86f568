package helper

import (
	"os"
	"os/exec"
	"syscall"
)

// detachedProcess is DETACHED_PROCESS of CreateProcess: no console, and so none of its signals.
const detachedProcess = 0x8

// apart takes a command away from its caller's console.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}

// ignored are the signals that ask a program to end.
func ignored() []os.Signal { return []os.Signal{os.Interrupt} }
