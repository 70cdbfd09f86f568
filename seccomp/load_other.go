//go:build !linux

package seccomp

import (
	"errors"
	"fmt"
)

// Supported fails: seccomp is Linux's.
func Supported() error { return fmt.Errorf("seccomp: %w", errors.ErrUnsupported) }

// Load fails: seccomp is Linux's.
func Load([]byte) error { return fmt.Errorf("load seccomp filter: %w", errors.ErrUnsupported) }
