// Package tools runs small programs of the kind that agents write through package sandbox/tools, on every backend, and holds
// what comes out against the right answer and against the same program run on this machine without anything. It holds the
// table of a gateway's inputs, too, against the tests that cover them.
//
// It is for tests alone.
package tools
