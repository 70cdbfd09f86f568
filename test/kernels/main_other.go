//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "kernels: the machines are made with Linux tools")
	os.Exit(1)
}
