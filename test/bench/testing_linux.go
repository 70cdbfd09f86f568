package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// tester stands in for a test where there is none: package engines starts engines for tests. What would end the test ends
// the goroutine of asTest. Its other methods are not there.
type tester struct {
	testing.TB
	said []string
	over bool
}

func (t *tester) Helper() {}

func (t *tester) Name() string { return "bench" }

func (t *tester) Errorf(format string, args ...any) {
	t.over = true
	t.said = append(t.said, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (t *tester) Skip(args ...any) {
	t.Errorf("%s", fmt.Sprint(args...))
	t.FailNow()
}

func (t *tester) Skipf(format string, args ...any) {
	t.Errorf(format, args...)
	t.FailNow()
}

func (t *tester) Fatal(args ...any) { t.Skip(args...) }

func (t *tester) Fatalf(format string, args ...any) { t.Skipf(format, args...) }

func (t *tester) FailNow() {
	t.over = true
	runtime.Goexit()
}

// asTest runs f as a test would, and returns why it did not pass.
func asTest(f func(testing.TB)) error {
	t := &tester{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(t)
	}()
	<-done
	if t.over {
		return errors.New(strings.Join(t.said, "; "))
	}
	return nil
}
