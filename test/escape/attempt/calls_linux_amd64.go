package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// nativeCalls are the calls that only this architecture has.
func nativeCalls() map[string][]uintptr {
	return map[string][]uintptr{
		"iopl":            {unix.SYS_IOPL, 3},
		"ioperm":          {unix.SYS_IOPERM, 0x80, 1, 1},
		"kexec_file_load": {unix.SYS_KEXEC_FILE_LOAD, minus(1), minus(1), 0, 0, 0xff00},
	}
}

// int80 enters the kernel as a 32-bit program does.
func int80(nr, a, b, c uint32) int32

// entryAttempts enter the kernel by another door than the one that a filter for this architecture watches.
func entryAttempts() map[string]try {
	return map[string]try{
		"int80": func([]string) (bool, string) {
			const getpid = 20 // arch/x86/entry/syscalls/syscall_32.tbl
			return int80(getpid, 0, 0, 0) == int32(os.Getpid()), "the 32-bit entry answered"
		},
		"int80-ptrace": func([]string) (bool, string) {
			const ptrace, attach = 26, 16
			return reached(unix.Errno(-int80(ptrace, attach, nobody, 0)))
		},
		"x32": func([]string) (bool, string) {
			const x32 = 0x40000000 // __X32_SYSCALL_BIT
			pid, _, errno := unix.RawSyscall(unix.SYS_GETPID|x32, 0, 0, 0)
			return errno == 0 && int(pid) == os.Getpid(), errno.Error()
		},
	}
}
