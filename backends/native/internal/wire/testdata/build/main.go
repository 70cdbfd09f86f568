// Command build prints the build id of a program that go build made.
package main

import (
	"os"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

func main() {
	build := wire.Build()
	_, _ = os.Stdout.Write(build[:])
}
