package main

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// A limit that cannot be set refuses the command: it does not run with less.
func TestExecSandboxRefuses(t *testing.T) {
	marker := t.TempDir() + "/marker"
	env := append(os.Environ(), "TEST_NO_SETRLIMIT=1")
	for _, limit := range []string{"--cpu=1", "--mem=1000", "--nofile=50", "--fsize=1"} {
		r := execSandboxProcess(t, env, limit, "--", "touch", marker)
		assert.Equal(t, 126, r.code, limit)
		assert.Contains(t, r.stderr, "refusing execution: set RLIMIT_", limit)
		assert.NoFileExists(t, marker)
	}
	r := execSandboxProcess(t, env, "--", "touch", marker)
	assert.Zero(t, r.code, "where no limit is asked for, none has to be set: %s", r.stderr)
	assert.FileExists(t, marker)
}

// denySetrlimit makes setting a limit fail on this thread with EPERM; asking for one goes on.
func denySetrlimit() {
	runtime.LockOSThread()
	const newLimit = 16 + 8*2 // the lower half of the third argument in struct seccomp_data (seccomp(2))
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PRLIMIT64, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: newLimit},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		panic(err)
	}
}
