// Package machine makes and boots the machines of the kernel tests: Debian's kernels and a Debian root, kept in a cache
// directory, under software emulation. It downloads with apt from where this machine's apt does, and installs nothing.
//
// A machine has two disks: the root, whose changes are thrown away with the machine, and one with the programs and the job
// of a run. Both are NVMe and ext4, since Debian's cloud kernels have these built in: no initramfs is needed. The first
// serial port is the console; the second carries results and nothing else.
//
// # Limitations
//
// The emulator of Debian 12 (QEMU 7.2) runs self-modifying code of several CPUs wrong when each has a thread of its own,
// and one instruction (cmpxchg16b) as well. So all CPUs of a machine share one thread, and have not that instruction.
package machine
