// Package spawner is the small process that makes sandboxes for a caller: PID 1 of its own user, mount and process
// namespaces, which does every fork, so that a fork's price does not grow with the caller's heap and nothing outlives
// the caller. When the caller's socket ends, or the caller does, the spawner exits and the kernel kills everything in
// its namespace.
//
// It obeys whoever holds its socket, and so has no right that its caller lacks; below a root caller it runs under an
// unprivileged host id of its own. It never sees a call's arguments, environment or files: they are in a sealed memfd
// that only that call's init maps. From a sandbox it reads fixed-size records on that sandbox's own socket, and nothing
// else.
//
// A program that embeds the native backend calls [Main] first thing in its main function, or ships the toolcell-init
// program beside itself.
//
// # Limitations
//
// The spawner trusts the kernel and its caller. A caller that is stopped keeps its sandboxes' clocks running, since the
// spawner holds the deadlines; a spawner that is stopped by root keeps nothing.
package spawner
