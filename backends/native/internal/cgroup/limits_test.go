package cgroup

import (
	"errors"
	"io/fs"
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLimitsValidate(t *testing.T) {
	for _, l := range []Limits{{}, {CPUs: 0.01}, {MemoryBytes: 1, PIDs: 1, CPUs: 64}} {
		assert.NoError(t, l.validate(), "%+v", l)
	}
	for _, l := range []Limits{{MemoryBytes: -1}, {PIDs: -1}, {CPUs: -1}, {CPUs: 0.004}, {CPUs: math.NaN()}, {CPUs: math.Inf(1)}} {
		assert.Error(t, l.validate(), "%+v", l)
	}
}

func TestErrorFix(t *testing.T) {
	for errno, fix := range map[error]string{
		syscall.EROFS: fixReadOnly, syscall.EACCES: fixRights(), syscall.EPERM: fixRights(), syscall.EBUSY: fixBusy,
		syscall.ENOENT: fixParent, syscall.EIO: "",
	} {
		err := explain("op", Memory, &fs.PathError{Op: "mkdir", Path: "/x", Err: errno})
		var e *Error
		if assert.ErrorAs(t, err, &e) {
			assert.Equal(t, fix, e.Fix)
			assert.ErrorIs(t, err, errno)
			assert.Equal(t, "op: memory: mkdir /x: "+errno.Error(), err.Error())
		}
		assert.Equal(t, err, explain("other", CPU, err), "what is explained stays")
	}
}

func TestJoin(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	assert.NoError(t, join(nil, nil))
	assert.Equal(t, a, join(nil, a))
	assert.EqualError(t, join(a, nil, b), "a; b")
	assert.ErrorIs(t, join(a, b), b)
}
