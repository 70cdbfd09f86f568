//go:build linux

package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nowhere is a path that does not exist.
const nowhere = "/no/such/toolcell/path"

// nobody is a process id above every pid_max.
const nobody = 0x7ffffff0

// reachable maps a name to a system call with arguments that can do no harm, whoever makes it. A privileged caller's call
// fails on its arguments; a confined one's before anything looks at them.
func reachable() map[string]func() syscall.Errno {
	path := ptr(nowhere)
	calls := map[string][]uintptr{
		"umount2":           {unix.SYS_UMOUNT2, path, 0},
		"pivot_root":        {unix.SYS_PIVOT_ROOT, path, path},
		"open_tree":         {unix.SYS_OPEN_TREE, minus(1), path, 1 /* OPEN_TREE_CLONE */},
		"move_mount":        {unix.SYS_MOVE_MOUNT, minus(1), path, minus(1), path, 0xffff0000},
		"fsopen":            {unix.SYS_FSOPEN, path, 0},
		"fsconfig":          {unix.SYS_FSCONFIG, minus(1), 6, 0, 0, 0},
		"fsmount":           {unix.SYS_FSMOUNT, minus(1), 0, 0},
		"fspick":            {unix.SYS_FSPICK, minus(1), path, 0},
		"mount_setattr":     {unix.SYS_MOUNT_SETATTR, minus(1), path, 0, 0, 0},
		"open_tree_attr":    {467, minus(1), path, 1, 0, 0},
		"statmount":         {457, 0, 0, 0, 0},
		"listmount":         {458, 0, 0, 0, 0},
		"setns":             {unix.SYS_SETNS, minus(1), 0},
		"unshare-user":      {unix.SYS_UNSHARE, unix.CLONE_NEWUSER},
		"ptrace":            {unix.SYS_PTRACE, unix.PTRACE_ATTACH, nobody, 0, 0},
		"process_vm_readv":  {unix.SYS_PROCESS_VM_READV, nobody, 0, 0, 0, 0, 0},
		"process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, nobody, 0, 0, 0, 0, 0},
		"process_madvise":   {unix.SYS_PROCESS_MADVISE, minus(1), 0, 0, 0, 0},
		"pidfd_getfd":       {unix.SYS_PIDFD_GETFD, minus(1), 0, 0},
		"kcmp":              {unix.SYS_KCMP, nobody, nobody, 0, 0, 0},
		"init_module":       {unix.SYS_INIT_MODULE, 0, 0, path},
		"finit_module":      {unix.SYS_FINIT_MODULE, minus(1), path, 0},
		"delete_module":     {unix.SYS_DELETE_MODULE, ptr("toolcell_none"), unix.O_NONBLOCK},
		"kexec_load":        {unix.SYS_KEXEC_LOAD, 0, 1 << 20, 0, 0},
		"swapon":            {unix.SYS_SWAPON, path, 0},
		"swapoff":           {unix.SYS_SWAPOFF, path},
		"reboot":            {unix.SYS_REBOOT, 0, 0, 0, 0},
		"acct":              {unix.SYS_ACCT, path},
		"quotactl":          {unix.SYS_QUOTACTL, 0x80000700, path, 0, 0},
		"quotactl_fd":       {unix.SYS_QUOTACTL_FD, minus(1), 0x80000700, 0, 0},
		"settimeofday":      {unix.SYS_SETTIMEOFDAY, minus(1), 0},
		"clock_settime":     {unix.SYS_CLOCK_SETTIME, 0, minus(1)},
		"sethostname":       {unix.SYS_SETHOSTNAME, path, 1000},
		"setdomainname":     {unix.SYS_SETDOMAINNAME, path, 1000},
		"syslog":            {unix.SYS_SYSLOG, 10 /* SYSLOG_ACTION_SIZE_BUFFER */, 0, 0},
		"bpf":               {unix.SYS_BPF, 0, 0, 8},
		"perf_event_open":   {unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, minus(1), 0},
		"io_uring_setup":    {unix.SYS_IO_URING_SETUP, 0, 0},
		"io_uring_enter":    {unix.SYS_IO_URING_ENTER, minus(1), 0, 0, 0, 0, 0},
		"io_uring_register": {unix.SYS_IO_URING_REGISTER, minus(1), 0, 0, 0},
		"userfaultfd":       {unix.SYS_USERFAULTFD, 0xf000},
		"open_by_handle_at": {unix.SYS_OPEN_BY_HANDLE_AT, minus(1), 0, 0},
		"add_key":           {unix.SYS_ADD_KEY, 0, 0, 0, 0, 0},
		"request_key":       {unix.SYS_REQUEST_KEY, 0, 0, 0, 0},
		"keyctl":            {unix.SYS_KEYCTL, 9999},
		"fanotify_init":     {unix.SYS_FANOTIFY_INIT, 0xffff0000, 0},
		"fanotify_mark":     {unix.SYS_FANOTIFY_MARK, minus(1), 0, 0, 0, path},
		"move_pages":        {unix.SYS_MOVE_PAGES, nobody, 0, 0, 0, 0, 0},
		"migrate_pages":     {unix.SYS_MIGRATE_PAGES, nobody, 0, 0, 0},
		"cachestat":         {451, minus(1), 0, 0, 0},
		"lsm_set_self_attr": {460, 0, 0, 0, 0},
		"clone3":            {unix.SYS_CLONE3, 0, 0},
	}
	for name, call := range nativeCalls() {
		calls[name] = call
	}
	out := map[string]func() syscall.Errno{}
	for name, c := range calls {
		out[name] = func() syscall.Errno { return raw(c) }
	}
	return out
}

// raw makes the system call whose number and arguments are in c.
func raw(c []uintptr) syscall.Errno {
	var a [7]uintptr
	copy(a[:], c)
	_, _, errno := unix.RawSyscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
	return errno
}

// minus returns -n as an argument.
func minus(n int) uintptr { return uintptr(-n) }

// ptr returns the address of s, with a NUL behind it, as an argument. The memory is never freed.
func ptr(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// kept holds what only a uintptr refers to. The collector does not move it.
var kept [][]byte
