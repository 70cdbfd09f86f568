// Package scripts tests the toolcell command as a person or a gateway uses it: every file in testdata is a script of
// commands and of what they must print, and every command of the README is run and compared.
//
// The scripts need a machine on which the native backend can enforce the whole profile. They run the real program, not
// a test's copy of its main function.
package scripts
