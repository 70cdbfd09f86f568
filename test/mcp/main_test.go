package mcp_test

import (
	"os"
	"testing"

	"github.com/soulacy/toolcell/test/shipped"
)

// programs are the command and the server beside it.
var programs shipped.Programs

func TestMain(m *testing.M) {
	os.Exit(programs.Main(m, "cmd/toolcell", "cmd/toolcell-mcp"))
}
