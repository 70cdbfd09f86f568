package server

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The message is the last line that says something, whatever the writes were, and does not steer a terminal.
func TestProgressMessage(t *testing.T) {
	for want, writes := range map[string][]string{
		"running":                    nil,
		"one":                        {"one\n"},
		"two":                        {"one\ntwo"},
		"three":                      {"one\nth", "ree\n\n  \n"},
		"four":                       {"fo", "ur"},
		"[31mred  bell":              {"\x1b[31mred \abell\n"},
		"caf\u00e9 \uFFFD":           {"caf\u00e9 \xff"},
		strings.Repeat("x", 200):     {strings.Repeat("x", 150), strings.Repeat("x", 5000)},
		"after " + "a long one":      {strings.Repeat("x", 5000) + "\n", "after a long one"},
		"not the empty one after it": {"not the empty one after it\n", "\n"},
	} {
		p := &progress{}
		for _, w := range writes {
			n, err := io.WriteString(p, w)
			require.NoError(t, err)
			assert.Equal(t, len(w), n)
		}
		assert.Equal(t, want, p.message())
	}
}
