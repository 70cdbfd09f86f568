// Command kernels boots real kernels and makes the calls of every kind of caller there: root and ordinary users, with and
// without a systemd to ask, on pure cgroup v2. `make test-kernels` runs it. Each cell is one caller on one kernel:
// `toolcell doctor` has to say what testdata says, and the calls and suites of the cell have to be right; see package
// machine for what the machines are.
//
// With -update the golden files are written instead. The README's table "Where it works" is made from them; a test
// compares.
package main
