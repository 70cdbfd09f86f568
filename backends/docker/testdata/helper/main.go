// Command helper is the helper program of the tests: static, small and nothing else.
package main

import (
	"os"

	"github.com/soulacy/toolcell/backends/docker/helper"
)

func main() {
	helper.Main()
	os.Exit(2)
}
