package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorKinds(t *testing.T) {
	sentinels := map[Kind]error{
		KindUnavailable: ErrUnavailable, KindRefused: ErrRefused, KindInvalid: ErrInvalid, KindSetup: ErrSetup,
	}
	for kind := range sentinels {
		err := fmt.Errorf("wrapped: %w", &Error{Kind: kind, Op: "open", Cause: fs.ErrPermission})
		for other, sentinel := range sentinels {
			assert.Equal(t, kind == other, errors.Is(err, sentinel), "%s is %s", kind, other)
		}
		assert.ErrorIs(t, err, fs.ErrPermission)
		assert.NotErrorIs(t, err, ErrNotFound)
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, kind, e.Kind)
	}
	for _, sentinel := range sentinels {
		assert.NotErrorIs(t, &Error{}, sentinel, "an error without a kind is of none")
	}
}

func TestNotFoundIsInvalidToo(t *testing.T) {
	for _, cause := range []error{ErrNotFound, ErrNotExecutable} {
		err := Invalid("run", "%q: %w", "x", cause)
		assert.ErrorIs(t, err, cause)
		assert.ErrorIs(t, err, ErrInvalid)
		assert.NotErrorIs(t, err, ErrSetup)
	}
	assert.NotErrorIs(t, Invalid("run", "%w", ErrNotFound), ErrNotExecutable)
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"":                       {},
		"op":                     {Op: "op"},
		"op: cause":              {Op: "op", Cause: errors.New("cause")},
		"op: net.none: cause":    {Op: "op", Guarantee: NetNone, Cause: errors.New("cause")},
		"net.none: cause (do x)": {Guarantee: NetNone, Cause: errors.New("cause"), Fix: "do x"},
		`a\x0ab: \x1b[31m \x00\x7f\x09 \u009b \u2028 \u202e é\x0d`: {Op: "a\nb", Cause: errors.New("\x1b[31m \x00\x7f\t \u009b \u2028 \u202e é\r")},
		`bad \xff\xfe utf8 日本`:                                     {Op: "bad \xff\xfe utf8 日本"},
	} {
		assert.Equal(t, want, e.Error())
	}
}

func TestSetupError(t *testing.T) {
	err := error(&Error{Kind: KindSetup, Op: "run", Cause: &SetupError{Step: "mount proc", Index: 7, Errno: syscall.EPERM}})
	assert.ErrorIs(t, err, ErrSetup)
	assert.ErrorIs(t, err, syscall.EPERM)
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.NotErrorIs(t, err, syscall.EACCES)
	var step *SetupError
	require.ErrorAs(t, err, &step)
	assert.Equal(t, 7, step.Index)
	assert.Equal(t, "run: mount proc: "+syscall.EPERM.Error(), err.Error())

	unexpected := &SetupError{Step: "same"}
	assert.Equal(t, "same: unexpected result", unexpected.Error())
	assert.NoError(t, errors.Unwrap(unexpected))
}

func TestErrorJSON(t *testing.T) {
	e := &Error{Kind: KindRefused, Op: "run", Guarantee: LimitMemory, Cause: errors.New("no\ncontroller"), Fix: "delegate"}
	b, err := json.Marshal(e)
	require.NoError(t, err)
	assert.Equal(t, `{"kind":"refused","message":"run: limit.memory: no\\x0acontroller (delegate)","guarantee":"limit.memory","cause":"no\\x0acontroller","fix":"delegate"}`, string(b))
	b, err = json.Marshal(&Error{Kind: KindInvalid, Op: "x"})
	require.NoError(t, err)
	assert.Equal(t, `{"kind":"invalid","message":"x","cause":""}`, string(b))
}
