//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// loadAttempts take more than their share. args are numbers.
func loadAttempts() map[string]try {
	return map[string]try{
		"fork-many":   forkMany,
		"take-memory": takeMemory,
		"flood":       flood,
		"fill-disk":   fillDisk,
		"fill-inodes": fillInodes,
		"many-files":  manyFiles,
	}
}

// forkMany starts args[0] children that stay.
func forkMany(args []string) (bool, string) {
	want := number(args, 0)
	for i := range want {
		_, end, err := victim()
		if err != nil {
			return false, fmt.Sprintf("%d of %d: %v", i, want, err)
		}
		defer end()
	}
	return true, fmt.Sprintf("%d children", want)
}

// takeMemory touches args[0] MiB.
func takeMemory(args []string) (bool, string) {
	var held [][]byte
	for range number(args, 0) {
		held = append(held, bytes.Repeat([]byte{1}, 1<<20))
	}
	return true, fmt.Sprintf("%d MiB", len(held))
}

// flood writes args[0] MiB to the standard output, a line at a time.
func flood(args []string) (bool, string) {
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	line := append(bytes.Repeat([]byte("f"), 1023), '\n')
	for range number(args, 0) << 10 {
		if _, err := w.Write(line); err != nil {
			return worked(err)
		}
	}
	return true, fmt.Sprint("flushed: ", w.Flush())
}

// fillDisk writes args[1] MiB to files in args[0].
func fillDisk(args []string) (bool, string) {
	block := bytes.Repeat([]byte{1}, 1<<20)
	for i := range number(args, 1) {
		p := filepath.Join(arg(args, 0), fmt.Sprintf("fill-%d", i))
		defer os.Remove(p)
		if err := os.WriteFile(p, block, 0o600); err != nil {
			return false, fmt.Sprintf("after %d MiB: %v", i, err)
		}
	}
	return true, "all of it"
}

// fillInodes makes args[1] empty files in args[0].
func fillInodes(args []string) (bool, string) {
	for i := range number(args, 1) {
		p := filepath.Join(arg(args, 0), fmt.Sprintf("inode-%d", i))
		defer os.Remove(p)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			return false, fmt.Sprintf("after %d files: %v", i, err)
		}
	}
	return true, "all of them"
}

// manyFiles opens args[0] descriptors.
func manyFiles(args []string) (bool, string) {
	for i := range number(args, 0) {
		f, err := os.Open("/dev/null")
		if err != nil {
			return false, fmt.Sprintf("after %d: %v", i, err)
		}
		defer f.Close()
	}
	return true, "all of them"
}
