//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// number returns args[i] as a number, or fallback when there is none.
func number(args []string, i, fallback int) int {
	if i >= len(args) {
		return fallback
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		return fallback
	}
	return n
}

// spin burns CPU time for ever, in as many further processes as asked for.
func spin(args []string) error {
	for range number(args, 0, 0) {
		if err := exec.Command(os.Args[0], "spin").Start(); err != nil {
			return err
		}
	}
	for {
	}
}

// alloc touches so many MiB of memory.
func alloc(args []string) error {
	var held [][]byte
	for range number(args, 0, 0) {
		held = append(held, bytes.Repeat([]byte{1}, 1<<20))
	}
	fmt.Println("allocated", len(held))
	return nil
}

// fill writes so many MiB to a file and prints how much fitted.
func fill(args []string) error {
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	block := bytes.Repeat([]byte{1}, 1<<20)
	for i := range number(args, 1, 0) {
		if _, err := f.Write(block); err != nil {
			fmt.Println(i)
			return err
		}
	}
	fmt.Println(args[1])
	return nil
}

// inodes creates so many empty files and prints how many there were before the first refusal.
func inodes(args []string) error {
	for i := range number(args, 1, 0) {
		f, err := os.Create(filepath.Join(args[0], "inode-"+strconv.Itoa(i)))
		if err != nil {
			fmt.Println(i)
			return err
		}
		f.Close()
	}
	fmt.Println(args[1])
	return nil
}

// forks starts as many children as it may, up to the given number, and prints how many it got.
func forks(args []string) error {
	started := 0
	for range number(args, 0, 0) {
		if exec.Command(os.Args[0], "hang").Start() != nil {
			break
		}
		started++
	}
	fmt.Println(started)
	return nil
}

// sum prints length and SHA-256 of the standard input.
func sum([]string) error {
	h := sha256.New()
	n, err := io.Copy(h, os.Stdin)
	if err != nil {
		return err
	}
	fmt.Println(n, hex.EncodeToString(h.Sum(nil)))
	return nil
}

// zombies leaves so many orphans behind that end at once, and prints how many dead processes stay unreaped.
func zombies(args []string) error {
	n := number(args, 0, 0)
	for range n {
		if err := exec.Command("/bin/sh", "-c", "true & true &").Run(); err != nil {
			return err
		}
	}
	for range 50 {
		if count, err := unreaped(); err != nil || count == 0 {
			fmt.Println(count)
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	count, err := unreaped()
	fmt.Println(count)
	return err
}

// unreaped counts the zombies in /proc.
func unreaped() (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	count := 0
	for _, p := range stats {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), ") Z ") {
			count++
		}
	}
	return count, nil
}
