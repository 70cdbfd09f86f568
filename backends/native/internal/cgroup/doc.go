// Package cgroup puts each sandbox under limits of its own: memory, number of processes, CPU share. It finds the
// hierarchies that this process lives in (v1, v2 or a hybrid of both), makes one directory a call ahead of need, hands
// it out as open descriptors, reads what the call used, and removes it.
//
// # Roles
//
// The caller's process owns the [Manager]. It opens every file by which a process joins itself, because the kernel checks a
// write there with the credentials of whoever opened the file (v1 always; v2 since Linux 5.16, commit e57457641613). A
// sandbox's first process attaches itself by writing "0" to those descriptors before it allocates anything, or is born
// attached, so there is no moment in which it runs unlimited. On v2 the spawner may start processes in the calls' groups and
// move them between those ([Config.Forker] gives it their cgroup.procs and the instance's), and nowhere else; no sandbox has
// its id. It has no other right on any cgroup.
//
// # Joining
//
// A write to cgroup.procs takes a lock that every fork and exit of the host takes, too. When nobody has written for a moment, it
// begins with an RCU grace period: some 10 ms on a machine with little to do, more than the rest of a call. A thread that
// moves itself alone does without the lock (cgroup_procs_write_start() in kernel/cgroup/cgroup.c, commit 9a3284fad42f,
// Linux 5.5), so on v1 a process joins by the file tasks, which it may with its one thread. On v2 threads of a group with
// limits stay together; there a process is born in its group (clone3(2), CLONE_INTO_CGROUP, Linux 5.7, see [Group.Into]),
// which takes the lock as any fork does, and cgroup_mutex (cgroup_css_set_fork()), so that births wait for one another. The
// kernel checks that with the rights of who forks.
//
// # Life of a directory
//
// Each Manager makes one directory `toolcell-<random>` in every hierarchy that it uses and holds a flock on it. Below it
// is one directory a call. Directories are used once: charged page cache, peaks and event counters would otherwise
// pass from one call to the next. A Manager that was killed leaves its directories behind without a lock; the next
// Open with the same parent, or [Sweep], kills what is left in them and removes them.
//
// A Manager for one call (Config.Once) makes that call's directory at once and takes the setting of its limits for the
// trial; on v1 it is the instance's own. It removes dead neighbours beside the call, and its directories in Close.
//
// # Version 2
//
// Controllers must be enabled in the parent's cgroup.subtree_control, which the kernel allows only where no process
// lives ("no internal processes", cgroups(7)). The parent is the configured one, or the process's own cgroup if it will
// do, or the nearest ancestor that systemd marked as delegated, or else a transient scope that systemd is asked to make
// around the spawner. In the last case [Manager.PlaceSpawner] has to come before the first [Manager.Acquire].
//
// The caller stays where it is, with one exception: it lives in a cgroup that systemd marked as delegated, such as a
// service with Delegate=yes. Then everything in there is moved to main/ below it, as systemd asks of such a service
// (with DelegateSubgroup=, systemd 254, the service starts there).
//
// # Limitations
//
// A cgroup limits; it does not confine. On v1 an out of memory kills one process, not the tree: whoever runs the call
// polls [Group.OOMEvent] and kills the sandbox's first process. That event also fires when an ancestor of the group
// runs out of memory, and when the directory is removed. On v1 TCP buffers are counted apart from memory; they get an
// eighth of the memory limit, at least 4 MiB, on top of it. Page cache that a call was first to read stays charged to
// its removed directory until the kernel reclaims it. A lock can be held by any user who can open the directory; one
// who holds it stops the sweep and nothing else. A process that no signal reaches (state D) keeps its directory; Close
// says so.
package cgroup
