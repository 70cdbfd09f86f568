// Package sandbox is the contract between a program that wants to run untrusted code and the backends that
// confine it: what one call may see and use ([ContainerProfile]), the call itself ([Command]), what the backend
// promises ([Guarantee], [Report]) and what happened ([Result]).
//
// The package holds no mechanism. It imports the standard library alone and builds on every operating system;
// the mechanisms live below backends/.
//
// # Fail closed
//
// The zero value of every type denies: a zero [ContainerProfile] has no network, no mounts and small limits, a
// zero [Mount] is read-only and not executable, a zero [Report] promises nothing. A [Backend] computes its Report
// before it runs anything. A required guarantee that is absent, and that the operator did not waive, refuses the
// call with an [Error] that matches [ErrRefused]; nothing is run in its place.
//
// # Result or error
//
// A program that ran and failed is a [Result], whatever its exit code, signal or limit. An error means that the
// sandbox did not run the program as asked. A program's own exit code 125, 126 or 127 is therefore never an error.
//
// # Limitations
//
// Every native sandbox shares the host's kernel: an exploit of the kernel escapes it. Use a backend with a kernel
// of its own (runsc or Kata behind a container engine) where that matters. Inodes of read-only mounts are shared
// between sandboxes, so flock, leases, access times and the page cache are covert channels, and so are
// /proc/stat, the load average, memory bandwidth and time. What the operator mounts is given away. An ordinary
// user's sandboxes run under that user's own uid, which its other processes share.
package sandbox
