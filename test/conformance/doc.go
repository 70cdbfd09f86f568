// Package conformance is the test suite of the contract in package sandbox. Any backend can run it: a backend's own test
// file opens the backend and calls [Run].
//
// It looks at a backend through [sandbox.Backend] alone, and, where a promise is about the host (no process left, files
// owned by the caller), at the host's /proc and file system. It needs /bin/sh, the usual small programs and python3 in the
// image, and go to build its own static helper. It tries no escape; that is package escape.
package conformance
