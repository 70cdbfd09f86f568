package seccomp

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkInstall reports how long installing the filter takes, as p50 and minimum. Each installation is on a thread
// of its own, which ends with its goroutine: a filter stacked on another one would cost more.
func BenchmarkInstall(b *testing.B) {
	program, err := Program(runtime.GOARCH, Options{})
	require.NoError(b, err)
	var took []time.Duration
	for b.Loop() {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			start := time.Now()
			err := loadOnThisThread(program)
			took = append(took, time.Since(start))
			done <- err
		}()
		require.NoError(b, <-done)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(took[0].Nanoseconds())/1e3, "min-us")
}
