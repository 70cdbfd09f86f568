//go:build !linux

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// sameKernel is false: containers run on a virtual machine's kernel.
func sameKernel(string, string) bool { return false }

// memoryKills is not known: it is another kernel's.
func memoryKills() int64 { return -1 }

// hostID names this machine.
func hostID() string {
	name, _ := os.Hostname()
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// bootID is empty: the start time of a process is a date here, which no two boots share.
func bootID() string { return "" }
