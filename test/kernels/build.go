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

// build builds what runs inside the machines, static, into dir.
func build(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := [][]string{{"build", "-o", filepath.Join(dir, "test2json"), "cmd/test2json"}}
	for _, p := range []string{"cmd/toolcell", "cmd/toolcell-init", "test/kernels/guest", "test/conformance/probe", "test/escape/attempt"} {
		args = append(args, []string{"build", "-o", filepath.Join(dir, filepath.Base(p)), module + "/" + p})
	}
	for _, p := range []string{"conformance", "escape"} {
		args = append(args, []string{"test", "-c", "-o", filepath.Join(dir, p+".test"), module + "/test/" + p})
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
