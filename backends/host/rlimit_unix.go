//go:build linux || darwin

package host

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/soulacy/toolcell/sandbox"
)

const (
	rlimitCPU    = syscall.RLIMIT_CPU
	rlimitNofile = syscall.RLIMIT_NOFILE
	rlimitFsize  = syscall.RLIMIT_FSIZE
	rlimitAS     = syscall.RLIMIT_AS
)

// memoryIsSkipped: XNU accepts RLIMIT_AS and does not keep it (setrlimit(2) of macOS).
const memoryIsSkipped = runtime.GOOS == "darwin"

// hardLimit is the hard limit of this process.
func hardLimit(resource int) (uint64, error) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return 0, os.NewSyscallError("getrlimit", err)
	}
	return now.Max, nil
}

// set sets the limit on this process, lowered where that is needed, and looks whether it is there.
func (r rlimit) set() error {
	hard, err := hardLimit(r.resource)
	if err != nil {
		return r.failed(err)
	}
	r = r.lowered(hard)
	want := syscall.Rlimit{Cur: r.soft, Max: r.hard}
	if err := syscall.Setrlimit(r.resource, &want); err != nil {
		return r.failed(os.NewSyscallError("setrlimit", err))
	}
	var got syscall.Rlimit
	if err := syscall.Getrlimit(r.resource, &got); err != nil {
		return r.failed(os.NewSyscallError("getrlimit", err))
	}
	if got.Cur > want.Cur || got.Max > want.Max {
		return r.failed(fmt.Errorf("it is %d:%d after being set to %d:%d", got.Cur, got.Max, want.Cur, want.Max))
	}
	return nil
}

func (r rlimit) failed(cause error) error {
	return &sandbox.Error{Kind: sandbox.KindSetup, Op: "set " + r.name, Guarantee: r.guarantee, Cause: cause}
}

// effective returns the limits as a call sets them.
func (l Rlimits) effective() ([]rlimit, error) {
	list := l.list()
	for i, r := range list {
		hard, err := hardLimit(r.resource)
		if err != nil {
			return nil, r.failed(err)
		}
		list[i] = r.lowered(hard)
	}
	return list, nil
}
