package need_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/soulacy/toolcell/test/need"
)

// ended is a test of which only the end is looked at.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper() {}

func (e *ended) Skip(...any) { e.end("skipped") }

func (e *ended) Fatalf(string, ...any) { e.end("failed") }

func (e *ended) end(how string) {
	e.how = how
	runtime.Goexit()
}

// end runs a test and returns how it ended.
func end(test func(testing.TB)) string {
	e := &ended{how: "passed"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(e)
	}()
	<-done
	return e.how
}

// What is missing skips, or fails where nothing may be missing, and either way the test goes no further.
func TestMissing(t *testing.T) {
	for value, want := range map[string]string{"": "skipped", "0": "skipped", "1": "failed"} {
		t.Setenv("TOOLCELL_TEST_REQUIRE", value)
		assert.Equal(t, want, end(func(t testing.TB) { need.Missing(t, "no x here") }), "%q", value)
		assert.Equal(t, want, end(func(t testing.TB) { need.NoError(t, errors.New("x"), "no x here") }), "%q", value)
		assert.Equal(t, "passed", end(func(t testing.TB) { need.NoError(t, nil, "no x here") }), "%q", value)
		assert.Equal(t, want == "failed", need.Everything(), "%q", value)
	}
}
