package machine

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The name by which the kernel is told the root has to be the one that the disk has (block/partitions/msdos.c).
func TestPartitionTable(t *testing.T) {
	b := partitionTable(100)
	require.Len(t, b, 512)
	assert.Equal(t, []byte{0x55, 0xaa}, b[510:])
	assert.Equal(t, uint32(2048), binary.LittleEndian.Uint32(b[454:]), "first sector")
	assert.Equal(t, uint32(100*2048), binary.LittleEndian.Uint32(b[458:]), "sectors")
	id := binary.LittleEndian.Uint32(b[440:])
	assert.Equal(t, "PARTUUID="+strings.ToLower(hex8(id))+"-01", rootPart)
}

func hex8(v uint32) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for shift := 28; shift >= 0; shift -= 4 {
		b.WriteByte(digits[v>>shift&15])
	}
	return b.String()
}

// What is not whole is not kept.
func TestCacheMake(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, err := OpenCache(io.Discard)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	broken := errors.New("broken")
	_, err = c.make("x", func(at string) error { return errors.Join(os.WriteFile(at, []byte("half"), 0o600), broken) })
	require.ErrorIs(t, err, broken)
	left, err := os.ReadDir(filepath.Dir(c.Path("x")))
	require.NoError(t, err)
	assert.Len(t, left, 1, "the lock")
	for range 2 {
		built := 0
		at, err := c.make("x", func(at string) error { built++; return os.WriteFile(at, []byte("whole"), 0o600) })
		require.NoError(t, err)
		text, err := os.ReadFile(at)
		require.NoError(t, err)
		assert.Equal(t, "whole", string(text))
		_, err = c.make("x", func(string) error { return broken })
		require.NoError(t, err, "it is there already")
	}
}

// A machine that did not come to its end has not said so.
func TestRead(t *testing.T) {
	at := filepath.Join(t.TempDir(), "results")
	write := func(text string) { require.NoError(t, os.WriteFile(at, []byte(text), 0o600)) }
	write("{\"cell\":\"x\",\"seconds\":1}\r\n{\"done\":true}\r\n")
	events, err := read(at)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, "x", events[0].Cell)
	for _, text := range []string{"", "{\"cell\":\"x\"}\n", "{\"cell\":\"x\"}\n{\"do", "{\"cell\":\"x\"}\nkernel: oops\n"} {
		write(text)
		_, err := read(at)
		assert.Error(t, err, "%q", text)
	}
}
