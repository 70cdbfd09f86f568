//go:build !linux && !darwin

package host

// There are no such limits here; [Open] and [Wrapper.Exec] refuse.
const (
	rlimitCPU = iota
	rlimitNofile
	rlimitFsize
	rlimitAS
)

const memoryIsSkipped = false

func (l Rlimits) effective() ([]rlimit, error) { return nil, nil }
