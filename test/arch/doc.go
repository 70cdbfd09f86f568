// Package arch holds the rules of the code's structure as tests: who may import whom, what every package and file owes
// its reader, and that the README tells the truth about the packages.
//
// It checks structure alone. Whether the code confines anything is the subject of test/conformance and test/escape.
package arch
