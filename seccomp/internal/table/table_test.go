package table

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Numbers from arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		goarch, name string
		want         uint32
	}{
		{"amd64", "read", 0}, {"amd64", "clone", 56}, {"amd64", "newfstatat", 262}, {"amd64", "clone3", 435}, {"amd64", "statmount", 457},
		{"arm64", "read", 63}, {"arm64", "clone", 220}, {"arm64", "newfstatat", 79}, {"arm64", "clone3", 435}, {"arm64", "statmount", 457},
	} {
		arch, err := Get(test.goarch)
		require.NoError(t, err)
		got, ok := arch.Number(test.name)
		assert.True(t, ok, test)
		assert.Equal(t, test.want, got, test)
		name, ok := arch.Call(test.want)
		assert.True(t, ok, test)
		assert.Equal(t, test.name, name)
	}
	arm64, err := Get("arm64")
	require.NoError(t, err)
	_, ok := arm64.Number("open")
	assert.False(t, ok)
	_, err = Get("mips")
	assert.Error(t, err)
}

func TestHolesAndCallsAreEverything(t *testing.T) {
	for _, goarch := range Names() {
		arch, err := Get(goarch)
		require.NoError(t, err)
		seen := len(arch.Calls())
		for _, h := range arch.Holes() {
			require.LessOrEqual(t, h[0], h[1])
			for nr := h[0]; nr <= h[1]; nr++ {
				_, ok := arch.Call(nr)
				assert.False(t, ok, nr)
				seen++
			}
		}
		assert.EqualValues(t, arch.Max()+1, seen, goarch)
	}
}
