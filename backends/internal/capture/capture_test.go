package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeepsUpToTheLimit(t *testing.T) {
	var tapped bytes.Buffer
	s := New(5, &tapped)
	for _, p := range []string{"abc", "", "defg", "h"} {
		n, err := io.WriteString(s, p)
		require.NoError(t, err)
		require.Equal(t, len(p), n)
	}
	Settle(t.Context(), false, s)
	kept, total := s.Output()
	assert.Equal(t, "abcde", string(kept))
	assert.Equal(t, int64(8), total)
	assert.Equal(t, "abcde", tapped.String(), "the tap has had everything when Settle returns")
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) { f.writes++; return 0, errors.New("gone") }

func TestTapThatFailsIsLeftAlone(t *testing.T) {
	f := &failing{}
	s := New(5, f)
	_, err := io.WriteString(s, "abc")
	require.NoError(t, err, "the program is not to notice")
	<-s.done
	_, err = io.WriteString(s, "d")
	require.NoError(t, err)
	Settle(t.Context(), false, s)
	assert.Equal(t, 1, f.writes)
	kept, _ := s.Output()
	assert.Equal(t, "abcd", string(kept))
}

// A tap that takes nothing is not waited for for ever: neither after a kill nor after the caller's end.
func TestStuckTap(t *testing.T) {
	for name, killed := range map[string]bool{"killed": true, "the context has ended": false} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			defer r.Close()
			s := New(5, w)
			_, err := io.WriteString(s, "abc")
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			if !killed {
				cancel()
			}
			defer cancel()
			Settle(ctx, killed, s)
		})
	}
}
