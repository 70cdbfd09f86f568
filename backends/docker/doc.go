// Package docker is the backend that confines programs with a container engine's command line: docker, podman or nerdctl,
// on Linux, macOS and Windows hosts. The command line is the contract; no engine's library is linked.
//
// A call is one container. It is created with the flags of [sandbox.ContainerProfile.RunArgs] and what the engine's
// dialect adds, compared with what was asked for (inspect), and only then started. Its first process is this module's own
// init (package helper), mounted read-only: it reads the call from its standard input, so that neither arguments nor
// environment are ever on a command line or in the engine's files, and reports how the program ended. A difference, or
// anything that the engine cannot do, refuses the call and removes the container.
//
// # Containers that stand ready
//
// A container that [Backend.Arm] has made is one of these whose init has said that it is there and has got no call yet. A call
// takes it when an engine would be given the same command line for it now, the image's name and the mounts' sources still
// mean what they meant, and init answers; it then sends init its request, as to any container, and the container ends with
// the call. So the engine makes nothing for the call, not even an exec, which starts a process by a runtime, takes longer
// than all the rest, and leaves what the program leaves to be told apart from what waits; and gVisor, which can have no
// sessions for that reason, has containers that stand ready. What may differ between calls is what init is told and no
// engine: the program, its directory, input, environment, deadline and the caller's cap on output.
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
