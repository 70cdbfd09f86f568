// Command bench measures what a sandboxed call costs, beside a bare start of the same program and beside whatever peers
// are installed. `make bench` runs it, after peers.sh has installed those of Debian.
//
// It runs `true`, a Python snippet and a node snippet in every way that works: toolcell cold, armed, as a process, as
// run_code runs code with and without an interpreter standing ready; bwrap, unshare, runc, runsc, docker run, docker exec,
// docker with gVisor, podman; and from npm, where they are installed (BENCH_NPM=1 make bench), codex's sandbox and
// sandbox-runtime. A way that does not work here is a line that says why. Then come 8, 64 and 256 callers, the memory of
// what stands ready, and callers with heaps of 8 MiB, 512 MiB and 2 GiB. The end is every goal, reached, missed or not
// measured. The engines are started with data of their own (package engines); no registry is asked.
//
// Every figure of a table comes from one run in one process: each round makes one call in every way, in an order that
// is drawn anew, so that a busy neighbour disturbs all ways alike. What can be compared between machines and days is
// therefore the ratios, not the milliseconds. A ratio is that of the medians; the interval behind it holds the ratio in
// 95 of 100 resamplings of the rounds. Ways that take a tenth of a second and more make fewer calls. A column of a table
// is empty where there were too few calls for the percentile.
//
// CPU time is measured by blocks, in which one caller calls again at once: this program's, and that of all processes
// below it, daemons and orphans included. A call that finds something armed is measured without what was built before it;
// its CPU time has the building in it. A call in namespaces made ahead is followed by a pause in which the next are made; its
// CPU time is compared with that of cold calls with the same pause, in which this program's own threads do not rest either. With several callers, the armed calls are a burst of 256 that stood ready, while
// others are built in the background to take their place, as a gateway has it.
//
// It prints and never judges a time: its exit status is 1 when toolcell itself could not be measured, or when a
// comparison was asked for a limit (-max-regression) and exceeds it.
//
// # Limitations
//
// bwrap answers while its namespaces are still being taken down, docker while it removes the container; toolcell answers
// after that, by the meaning that the design gives a cold call. The comparison is to their advantage by so much.
//
// The kernel tears network namespaces down in its own threads, after the call; that is in no call's time and in no
// process's CPU time. The column "machine" of the back-to-back table shows it, if nothing else runs.
//
// That a peer is measured says nothing of what it confines: bwrap, unshare and runc are given namespaces and a root here,
// no limits, no Landlock, and bwrap and unshare no system call filter.
package main
