// Package docker is the backend that confines programs with a container engine's command line: docker, podman or nerdctl,
// on Linux, macOS and Windows hosts. The command line is the contract; no engine's library is linked.
//
// A call is one container. It is created with the flags of [sandbox.ContainerProfile.RunArgs] and what the engine's
// dialect adds, compared with what was asked for (inspect), and only then started. Its first process is this module's own
// init (package helper), mounted read-only: it reads the call from its standard input, so that neither arguments nor
// environment are ever on a command line or in the engine's files, and reports how the program ended. A difference, or
// anything that the engine cannot do, refuses the call and removes the container.
//
// # Identity
//
// A program is never root. For an ordinary caller it runs under the caller's own uid and gid, so that a private workspace
// works and what is written there belongs to the caller; for root, and where there are no uids, under 65532:65532. A
// writable mount that belongs to somebody else is refused, with the command that changes it.
//
// # Ending
//
// Init ends the container with the call, at a limit, and when its input ends, which it does when the caller dies. A
// watchdog, another process of this module, holds a pipe of the caller and removes what is left; a later Open removes
// what a caller of this host left behind that is dead by its process id, start time and boot.
//
// # What it does not protect
//
// Containers share one kernel unless the profile names a runtime with its own (runsc, kata). Engines have no Landlock:
// kernel.landlock is absent. A socket in a declared mount can be reached. Whoever controls the engine's socket, the
// caller included, controls the host. The engine resolves a mount's source again after it was checked, so what others can
// rename is not safe to mount. The engine's own limits on what it reports stand in each [sandbox.Report].
package docker
