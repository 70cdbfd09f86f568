package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// readToken reads the file of a token. What other users of this machine can read or write is none.
func readToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", misused(fmt.Errorf("--token-file: %w", err))
	}
	defer f.Close()
	info, err := f.Stat() // of what is read, whatever is at its path by then
	if err != nil {
		return "", misused(fmt.Errorf("--token-file: %w", err))
	}
	if info.IsDir() {
		return "", tokenFault(name, "it is a directory", "name the file that holds the token")
	}
	if cause, fix := exposed(info, os.Geteuid()); cause != "" {
		return "", tokenFault(name, cause, fix)
	}
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", misused(fmt.Errorf("--token-file: %w", err))
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", tokenFault(name, "it is empty", fmt.Sprintf("write a token of at least %d characters to it", minToken))
	}
	return token, nil
}

func tokenFault(name, cause, fix string) error {
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: fmt.Sprintf("--token-file %q", name), Cause: errors.New(cause), Fix: fix}
}
