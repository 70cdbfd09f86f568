//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "guest: this runs inside a Linux machine of the kernel tests")
	os.Exit(1)
}
