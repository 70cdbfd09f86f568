// Package helper is the small program that the docker backend needs beside itself, in two roles.
//
// As init it is the first process of a container, mounted there read-only. It reads the call from its standard input,
// starts the program, moves its input and output, keeps the deadline and the CPU budget, reaps, and reports how the
// program ended. An engine tells an exit code of 137 from a kill by no means, nor a program that was not found from one
// that exits with 127; init saw which it was. The container's own streams are init's alone, and init is not dumpable, so
// the program can neither read them nor forge a report (package frame).
//
// As watchdog it stays on the host, holds a pipe of its caller, and removes the caller's containers when that pipe ends.
//
// A program that embeds the backend calls [Main] first thing in its main function, and is a static file; or it names
// such a program in the backend's configuration. On macOS and Windows the init is another file, built for Linux.
//
// # Limitations
//
// Init confines little, the engine's flags do: it forbids execution on mounts without it, which engines have no flag for
// (with Landlock), and ends the call at the deadline, the CPU budget and out of memory. The program runs under init's uid and may end the container by ending
// init, which costs it its own life and shows as such.
package helper
