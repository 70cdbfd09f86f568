// Command bench measures what a sandboxed call costs, beside a bare start of the same program and beside whatever peers
// are installed (bwrap, unshare, runc). `make bench` runs it.
//
// Every figure of a table comes from one run in one process: each round makes one call in every way, in an order that
// is drawn anew, so that a busy neighbour disturbs all ways alike. What can be compared between machines and days is
// therefore the ratios, not the milliseconds. A ratio is that of the medians; the interval behind it holds the ratio in
// 95 of 100 resamplings of the rounds.
//
// It prints and never judges a time: its exit status is 1 when toolcell itself could not be measured, or when a
// comparison was asked for a limit (-max-regression) and exceeds it.
//
// # Limitations
//
// bwrap answers while its namespaces are still being taken down; toolcell answers after that, by the meaning that the
// design gives a cold call. The comparison is to bwrap's advantage by so much.
//
// The kernel tears network namespaces down in its own threads, after the call; that is in no call's time and in no
// process's CPU time. The column "machine" of the back-to-back table shows it, if nothing else runs.
package main
