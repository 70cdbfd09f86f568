// Package signals undoes what a process has inherited about signals, before it starts a program that is not to inherit it.
//
// # Limitations
//
// It is for Linux. What a process blocks is another matter: the Go runtime has its own mask for its children.
package signals
