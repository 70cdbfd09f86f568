package wire

import (
	"crypto/sha256"
	"fmt"
	"io"
	"runtime/debug"
	"unsafe"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// module is the one that both ends come from.
const module = "github.com/soulacy/toolcell"

// Build identifies the sources that this program was built from: the version of a released module, and everything that the
// two ends must agree on, so that two builds of an unreleased tree differ where it matters. A tree's own version does not
// count: go build makes one of the commit it finds, go test and go run make none, and all three are the same sources.
func Build() [32]byte {
	h := sha256.New()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == module && m.Sum != "" {
				write(h, m.Version)
			}
		}
	}
	write(h, plan.Magic, plan.HeaderSize, plan.StepSize, plan.FirstFD, plan.MaxFDs)
	write(h, unsafe.Sizeof(Request{}), unsafe.Sizeof(Reply{}), ReplyArmed, RequestRelease, StepRelease, CauseKilled)
	for c := plan.Call(1); c.Valid(); c++ {
		write(h, c.String())
	}
	return [32]byte(h.Sum(nil))
}

// write adds values to a hash, which takes everything.
func write(h io.Writer, values ...any) {
	_, _ = fmt.Fprintln(h, values...)
}
