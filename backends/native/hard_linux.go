package native

import (
	"sync"

	"github.com/soulacy/toolcell/backends/native/internal/probe"
)

// hardLimits are this process's hard limits as they were for the first call. Spawners have them, and with them every
// sandbox; nobody but root raises them.
type hardLimits struct {
	once   sync.Once
	limits map[int]uint64
	err    error
}

func (h *hardLimits) get() (map[int]uint64, error) {
	h.once.Do(func() { h.limits, h.err = probe.HardLimits() })
	return h.limits, h.err
}
