package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/soulacy/toolcell"

// build builds what runs inside the machines, static, into dir: the suites too, if they are to run.
func build(ctx context.Context, dir string, suites bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	programs := []string{module + "/cmd/toolcell", module + "/cmd/toolcell-init", module + "/test/kernels/guest"}
	var args [][]string
	if suites {
		programs = append(programs, "cmd/test2json", module+"/test/conformance/probe", module+"/test/escape/attempt")
		for _, p := range []string{"conformance", "escape"} {
			args = append(args, []string{"test", "-c", "-o", filepath.Join(dir, p+".test"), module + "/test/" + p})
		}
	}
	for _, p := range programs {
		args = append(args, []string{"build", "-o", filepath.Join(dir, filepath.Base(p)), p})
	}
	for _, a := range args {
		cmd := exec.CommandContext(ctx, "go", a...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(a, " "), err, out)
		}
	}
	return nil
}

// readmeUnit returns the unit file that the README shows.
func readmeUnit(readme string) (string, error) {
	text, err := os.ReadFile(readme)
	if err != nil {
		return "", err
	}
	_, block, found := strings.Cut(string(text), "\n```ini\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !ends {
		return "", errors.New(readme + " shows no unit file")
	}
	return block + "\n", nil
}
