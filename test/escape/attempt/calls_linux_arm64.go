package main

// nativeCalls are the calls that only this architecture has.
func nativeCalls() map[string][]uintptr { return nil }

// entryAttempts enter the kernel by another door. A static 64-bit arm program has none.
func entryAttempts() map[string]try { return nil }
