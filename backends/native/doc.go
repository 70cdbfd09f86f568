// Package native is the backend that confines programs with the Linux kernel's own means: user, mount, pid, network,
// ipc, uts and cgroup namespaces, Landlock, seccomp, cgroups and rlimits. It needs no daemon and no root. A call costs a
// few milliseconds and leaves nothing behind.
//
//	caller (this package)
//	  └─ spawner        package spawner: PID 1 of its own user, mount and pid namespace; makes every sandbox
//	       └─ init      package forked: PID 1 of one sandbox; carries out the plan, then reaps
//	            └─ the program
//
// For each call the profile is compiled (package confine) into a plan (package plan): a list of system calls with their
// arguments, which init makes on itself without deciding anything. What the host can do is found out before, by trying
// (package probe), and stands in the [sandbox.Report]. A step that fails ends the call with the step, the errno and the
// guarantee it served; the program was then not started.
//
// A small process that makes one call and ends, as `toolcell run` does, makes it itself ([Config.Direct]): the spawner's
// start would cost more than the call. Init then comes from the caller's own process, without its memory, and does what
// it would owe to a spawner: it dies with the thread that forked it, and ends by itself a second after its deadline,
// should its caller be stopped. The CPU time of such a call is watched by the caller, so while that is stopped only
// RLIMIT_CPU bounds each process.
//
// # Prepared roots
//
// What calls of one kind share of their root (the image, the devices, the mount points) a spawner prepares once, from the
// second such call on, in a mount namespace of its own: a read-only file system, pivoted into, with nothing of the
// host's tree left. Later calls start in a copy of it, in which all of that is locked, and add what is their own: /proc, the
// terminals, /tmp, /dev/shm, the declared mounts. It is given up when a file that it shows was replaced on the host. An
// ordinary user's declared mounts are opened in the copy of the host's mounts, so calls with some make their root
// themselves, as do those of a process that makes one call. Below a root caller the owner of a prepared root's files is
// nobody; of one that the call made itself, the program's user. Neither can be written to.
//
// # Ready ahead of calls
//
// [Backend.Arm] has sandboxes built before there is a call: confined by all that the profile says, empty, waiting. The
// plan of such a one ends in one message that has to bring exactly the descriptors it expects; a call's program, arguments,
// environment, streams and deadline come with it. Each makes one call and is destroyed. With an interpreter (package
// ahead) Python or Node.js is started in there as well, and waits in a hook before its main; its streams are made with it,
// and the call's environment comes through a socket that it closes before the program's first line. A call takes what
// stands ready only when everything that was settled by then is the same for it: the profile, what its mounts' sources
// are, the interpreter's file and arguments, and the variables that are read while one starts. Time and CPU time count
// from the call, the most memory from the start. Python's hook is compiled once, by that Python in a sandbox that shows
// nothing of anybody's.
//
// # Cgroups
//
// A sandbox is in its cgroup from its first moment: on version 2 it is born there, where the spawner may do that, which below
// a root caller gets the cgroup.procs files of the calls' cgroups and of the directory they lie in for it; on version 1, and where it may not, init joins it
// before anything else. Joining on version 2 waits for an RCU grace period when nobody on the host has moved a process for
// a moment, some 10 ms (package cgroup); the log says so once.
//
// # Identity
//
// Below a root caller each concurrent sandbox runs under a host id of its own, the spawner under another; sources of
// mounts are id-mapped, so that what the program writes belongs to the source's owner. Below an ordinary user
// sandboxes run under that user's own uid, mapped to another id inside.
//
// # What it does not protect
//
// All sandboxes share the host's kernel; an exploit of it escapes. Inodes of shared read-only mounts, the prepared root among
// them, carry locks and access times from one sandbox to another, and the page cache, /proc/stat, the load average, memory bandwidth and
// time tell about neighbours. What the operator mounts is given away, sockets in it included below Landlock version 9
// (guarantee ipc.no-host-sockets). An ordinary user's sandboxes share its uid with its other processes, keep its
// supplementary groups on what is mounted, and can execute a memfd, since only root may switch that off.
//
// Landlock's TCP rights are not used: a rule is about a port number, and a sandbox's own loopback, on which programs talk
// to themselves, is the only network there is; the empty network namespace is the boundary.
package native
