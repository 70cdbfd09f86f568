//go:build !windows

package tools

import "syscall"

// nonblock keeps the opening of a pipe, which a program can leave in its workspace, from waiting for ever.
const nonblock = syscall.O_NONBLOCK
