// Command toolcell-init is the spawner of the native backend as a program of its own, for programs that embed the
// backend and cannot be their own spawner. It is started by the backend and does nothing when a person runs it.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
//go:debug decoratemappings=0
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/soulacy/toolcell/backends/native/spawner"
)

// The main thread makes the forks: it is the one thread that lives as long as the process, and a child's parent-death
// signal follows the thread that forked it.
func init() { runtime.LockOSThread() }

func main() {
	spawner.Main()
	fmt.Fprintln(os.Stderr, "toolcell-init: this program is started by toolcell's native backend; run `toolcell --help` instead")
	os.Exit(2)
}
