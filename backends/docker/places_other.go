//go:build !linux

package docker

import (
	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

// places knows of none: no engine here mounts this machine's own files.
func places([]sandbox.Mount) ([]frame.Place, error) { return nil, nil }
