package helper

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// blocked is how many of init's goroutines can be inside a blocking system call at once (the caller's frames, a frame of
// its own, waiting for children, the signals) and as many to spare.
const blocked = 8

// takeThreads makes init's threads at least total. A container's process limit counts threads, init's among them, so the
// backend adds total to the limit; a smaller number would be the program's to use. The runtime keeps threads it once
// had: those that init will need are made by blocking so many at a time, the rest, made meanwhile, wait for ever. On a busy
// machine the runtime may make one more while they are counted; the program then has one less.
func takeThreads(total int) error {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe2", err)
	}
	var done sync.WaitGroup
	var inside atomic.Int32
	for range blocked {
		done.Go(func() {
			var b [1]byte
			inside.Add(1)
			_, _ = syscall.Read(p[0], b[:]) // the end of the pipe
		})
	}
	for inside.Load() < blocked {
		runtime.Gosched()
	}
	// With one processor this goroutine runs again only once all of them are in their system calls.
	err := fillThreads(total)
	syscall.Close(p[1])
	done.Wait()
	syscall.Close(p[0])
	return err
}

// fillThreads starts threads until there are total.
func fillThreads(total int) error {
	for {
		n, err := threads()
		if err != nil {
			return err
		}
		if n >= total {
			return nil
		}
		up := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(up)
			select {}
		}()
		<-up
	}
}

// threads is how many threads this process has.
func threads() (int, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(data) {
		if v, ok := bytes.CutPrefix(line, []byte("Threads:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	return 0, errors.New("/proc/self/status does not tell the number of threads")
}
