//go:build !linux

package docker

import (
	"os"
	"testing"

	"github.com/soulacy/toolcell/backends/docker/helper"
)

// TestMain makes this program its own helper.
func TestMain(m *testing.M) {
	helper.Main()
	os.Exit(m.Run())
}
