// Package tools runs small programs of the kind that agents write through package sandbox/tools, on every backend, and holds
// what comes out against the right answer and against the same program run on this machine without anything. It holds the
// table of a gateway's inputs, too, against the tests that cover them.
//
// On engines the programs run in an image that this repository makes, with Python, node and bash. With TOOLCELL_TEST_LONG=1
// nerdctl and, for tools that need no output directory of their own, gVisor are among the backends.
//
// It is for tests alone.
package tools
