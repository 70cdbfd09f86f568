// Command guest is the side of the kernel tests that runs inside: "guest agent" is started by the machine's systemd, works
// through the job on the disk with the programs, writes what came of it to the machine's second serial port, and switches
// the machine off. "guest calls" makes the calls of a cell as whoever starts it, and prints their verdicts.
package main
