// Package seccomp holds the one system call filter of every backend: as a profile that container engines read
// ([JSON]) and as a native program ([Program]) that is loaded with [Load] or by the caller's own seccomp(2).
//
// What is allowed stands in policy.json, an allow-list and the place to change something. "go generate" expands it to
// profile.json, which engines read, and compiles that with libseccomp (compile/, the only part that needs cgo) to the
// embedded programs, so this package is pure Go.
//
// # What a refused call gets
//
// A call of another architecture or of the x32 table kills the process: no program of this architecture makes one,
// and the numbers mean other calls there. Everything else gets an errno, so that programs can go on:
//
//   - ENOSYS where a program knows what to do on a kernel without the call (clone3, io_uring, keyrings, inotify,
//     fanotify), and for every number that is newer than the table or that no call has;
//   - EAFNOSUPPORT for sockets of other families and protocols than AF_UNIX, TCP, UDP, UDP-Lite and ping, netlink
//     among them, as a kernel without them answers;
//   - EPERM for the rest.
//
// Arguments are compared on the 32 bits that the kernel reads. An engine that does not know a call's name leaves it
// to the default, which refuses.
//
// # Limitations
//
// A filter sees numbers and registers, never what a pointer points to, so paths, socket addresses and the flags of
// clone3 are beyond it. MFD_EXEC is refused, but before Linux 6.3 (or without the sysctl vm.memfd_noexec) every
// memfd can be executed. An allowed call's own bugs stay reachable. PR_SET_NO_NEW_PRIVS, capabilities, namespaces
// and Landlock are other layers, set up by the caller.
package seccomp
