// Package soak holds tests that make many calls, or end their caller at bad moments, and count what is left: descriptors,
// processes, mounts, cgroups, temporary files, memory. They run short in an ordinary test and for long with
// TOOLCELL_TEST_SOAK=full in the environment, as `make soak` does; TOOLCELL_TEST_CALLS is how many calls TestSoakEveryKind makes.
//
// # Limitations
//
// They count what the kernel shows of this process and of those below it. Memory of the kernel itself is not counted.
package soak
