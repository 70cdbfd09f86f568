package backends

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/soulacy/toolcell/sandbox"
)

func TestDistinct(t *testing.T) {
	gone := &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "start", Cause: errors.New("gone"), Fix: "mend it"}
	other := errors.New("other")
	all := errors.Join(gone, fmt.Errorf("tool a refused: %w", gone), errors.Join(other, fmt.Errorf("tool b refused: %w", gone)), other,
		fmt.Errorf("%w and %w", other, other))
	assert.Equal(t, "start: gone (mend it); other; other and other", distinct(all))
	assert.Equal(t, "other", distinct(other))
}
