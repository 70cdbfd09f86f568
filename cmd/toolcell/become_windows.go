package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
)

// become runs the program in place of this one, and returns how it ended.
func become(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(exit.ExitCode())
	}
	if err != nil {
		return becomeError(program, err)
	}
	return nil
}

// trusted has nothing to say here: who may write to a program is not in its mode.
func trusted(fs.FileInfo) error { return nil }
