// Package escape holds the attempts to get out of a sandbox, or to take more from it than it gives. It is tests only.
//
// Each attempt is made twice by the same program (see the command in attempt/). First unconfined, as whoever runs the test,
// in a throw-away directory and, where it would change the machine, in throw-away namespaces: it has to succeed there, or
// its failure inside would mean nothing. Then confined, through [sandbox.Backend]: it has to fail. An attempt whose control
// cannot succeed on this host (a kernel without the feature, a test that does not run as root) is still made, and does not
// count. The end of the test prints how many counted and why the others did not; with TOOLCELL_TEST_REQUIRE=1 in the
// environment fewer than [minimum] fail the test.
//
// What a sandbox does not promise (package sandbox, Limitations) is not attempted: shared inodes, time, the kernel's bugs.
package escape
