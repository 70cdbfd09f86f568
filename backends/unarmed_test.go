package backends_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// armer is a backend on which sandboxes can stand ready.
type armer struct{ sandbox.Backend }

func (armer) Arm(context.Context, sandbox.ContainerProfile, sandbox.Arming) error { return nil }

// Nothing stands ready on an engine unless that was written down, whichever way the calls came there.
func TestContainersStandReadyWhenItIsWritten(t *testing.T) {
	for text, want := range map[string]bool{
		"runtime: {sandbox: {binary: docker}}":                                            false,
		"runtime: {sandbox: {binary: docker, armed: true}}":                               true,
		"runtime: {sandbox: {binary: auto}}":                                              false,
		"runtime: {sandbox: {binary: auto, armed: true}}":                                 true,
		"runtime: {sandbox: {binary: native}}\nexecutor: {backend: podman}":               false,
		"runtime: {sandbox: {binary: native, armed: true}}\nexecutor: {backend: podman}":  true,
		"runtime: {sandbox: {binary: native}}\nexecutor: {backend: native}":               true,
		"runtime: {sandbox: {binary: docker, armed: false}}\nexecutor: {backend: podman}": false,
	} {
		m := &machine{}
		if parse(t, text).Backend() == config.Auto {
			m.down = map[string]error{config.Native: errDown}
		}
		open := func(ctx context.Context, name string, c backends.Config) (sandbox.Backend, error) {
			b, err := m.open(ctx, name, c)
			if err != nil {
				return nil, err
			}
			return armer{b}, nil
		}
		r, err := backends.Open(t.Context(), parse(t, text), backends.Options{Open: open})
		require.NoError(t, err, text)
		p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameInline})
		require.NoError(t, err, text)
		_, arms := p.Backend.(sandbox.Armer)
		assert.Equal(t, want, arms, text)
		require.NoError(t, r.Close())
	}
}
