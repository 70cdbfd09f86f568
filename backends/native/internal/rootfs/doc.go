// Package rootfs says what the root of a native sandbox consists of: which directories of the host or of an unpacked
// image are bound read-only, which links and small files stand beside them, who the program is and what its
// environment says. It looks at files and returns data; it mounts nothing and runs nothing.
//
// # What is left out
//
// Nothing that others may not read is ever copied, and a directory of /etc that holds such a file is copied without it
// instead of being bound. The directories that are bound whole, /usr and its kin, are not searched: whatever an
// operator keeps there is visible, with the rights that the sandbox's host id has. [Image.Shows] tells whether a path
// that must stay hidden lies in one. The answer is about the moment of the call; a file that is added to a bound
// directory later is seen.
package rootfs
