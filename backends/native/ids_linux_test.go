package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAccountRanges(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	passwd := write("passwd", "# accounts\nroot:x:0:0::/root:/bin/sh\n+nis::::::\nalice:x:1000:1001::/home/alice:/bin/sh")
	group := write("group", "large:x:5000:"+strings.Repeat("member,", 20_000)+"\nlast:x:4294967294:\n")
	subuid := write("subuid", "alice:100000:65536\nbroken:100\n\n")
	got, err := accountRanges(passwd, group, subuid, filepath.Join(dir, "none"))
	require.NoError(t, err)
	assert.Equal(t, []idRange{{0, 1}, {1000, 1}, {0, 1}, {1001, 1}, {5000, 1}, {4294967294, 1}, {100000, 65536}}, got)
	_, err = accountRanges(dir, group, subuid, subuid)
	assert.Error(t, err, "what cannot be read may claim anything")
}

func TestOverlaps(t *testing.T) {
	const base = 10 * blockSize
	for r, want := range map[idRange]bool{
		{base - 1, 1}: false, {base - 1, 2}: true, {base, 1}: true, {base + blockSize - 1, 1}: true, {base + blockSize, 1}: false,
		{0, 1 << 32}: true, {0, base}: false,
	} {
		assert.Equal(t, want, overlaps([]idRange{{1, 1}, r}, base), "%+v", r)
	}
}

func TestWithin(t *testing.T) {
	const base = 10 * blockSize
	all := []idRange{{0, 1 << 32}}
	assert.True(t, within([][]idRange{all, all}, base))
	assert.True(t, within([][]idRange{all, {{0, 1}, {base, blockSize}}}, base))
	assert.False(t, within([][]idRange{all, {{base, blockSize - 1}}}, base))
	assert.False(t, within([][]idRange{all, {}}, base))
}

// Two instances never have a block in common, and one that is given back is free again.
func TestTakeBlock(t *testing.T) {
	const base, blocks = defaultIDBase, 3
	dir := filepath.Join(t.TempDir(), "state")
	var held []*idBlock
	seen := make(map[uint32]bool)
	for {
		b, err := takeBlock(dir, base, blocks*blockSize)
		if err != nil {
			break
		}
		assert.False(t, seen[b.base], "block %d twice", b.base)
		seen[b.base] = true
		held = append(held, b)
	}
	require.NotEmpty(t, held)
	require.LessOrEqual(t, len(held), blocks)
	held[0].close()
	again, err := takeBlock(dir, base, blocks*blockSize)
	require.NoError(t, err)
	assert.Equal(t, held[0].base, again.base)
	for _, b := range append(held[1:], again) {
		b.close()
	}
}

// Every id of a block but the spawner's own is handed out, each to one call at a time.
func TestTakeIDs(t *testing.T) {
	b := newBlock(defaultIDBase, nil)
	seen := make(map[uint32]bool)
	for range blockSize - 1 {
		id, err := b.take()
		require.NoError(t, err)
		require.False(t, seen[id])
		seen[id] = true
	}
	assert.False(t, seen[0], "the spawner's own")
	_, err := b.take()
	require.Error(t, err)
	b.give(7)
	id, err := b.take()
	require.NoError(t, err)
	assert.Equal(t, uint32(7), id)
}
