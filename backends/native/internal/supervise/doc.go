// Package supervise makes sandboxes and keeps them in hand: it forks each one's init, writes its identity maps, watches
// its deadline, CPU time and memory, kills it when it has to, and tells when nothing of it is left. It is the part that a
// spawner and a process that makes its one call itself have in common.
//
// # Limitations
//
// The clocks are the process's own: one that is stopped does not kill. A spawner is not stopped with its caller. For a
// process that makes its own call, a [wire.Request] can give init a lifetime, which it keeps by itself; the CPU time
// then stands still with the caller, but for RLIMIT_CPU.
package supervise
