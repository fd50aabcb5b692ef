// Command approaches repeats the experiment of the Reinit++ paper (Georgakoudis, Guo, Laguna, ISC 2020,
// sections 4 and 5): the same programs under each way to survive a failure, with the same failures.
//
//	go run ./internal/bench/approaches -svg approaches.svg           # all of it: about a quarter of an hour
//	go run ./internal/bench/approaches -quick -programs cg           # a trial
//
// # What runs
//
// The programs are examples/md (the paper's CoMD), cg (HPCCG) and hydro (LULESH), under craft run with -np ranks on
// -nodes virtual nodes and a spare one, with a checkpoint after every iteration. Nothing fails, or one process kills
// itself with SIGKILL, or the daemon of its node, after an iteration. Rank and iteration are drawn for each program,
// failure and run, and are the same for all approaches; the node is the one on which that rank has begun.
//
//	CR              --recovery ABORT --restarts 1: all is started again
//	ULFM            --recovery NON-SHRINKING by calls that follow one another, as a program that uses
//	                ULFM makes them: revoke, shrink, agree, spawn and merge, reorder
//	NON-SHRINKING   the zone's recovery, with these in one
//	GLOBAL-RESTART  the root rolls all back at the detection, as Reinit++ does
//
// A replacement is started where its process was, or on the spare node if that is lost (--spawn REUSE), as in the paper's
// algorithm 1. Checkpoints are kept as in its Table 2, and again in files for all:
//
//	failure       CR     others
//	process, none file   memory (level process: of the rank, and a copy at another one)
//	node          file   file
//
// Files are below -dir, each job with an empty directory, synced as CRAFT_SYNC says (by default before a version
// counts as complete). The table says of which type its file system is. A variant that is in both pairings
// runs once for both.
//
// In each run all variants of a program and a failure take turns, and each time another one is first, so that
// whatever else happens to the machine happens to all. A job whose result has not the digest of one without
// failures ends the measurement.
//
// # How the time is divided
//
// The whole is the time of craft run, from its start to its end, all deployments included. Each process
// notes what happens in a file (package timeline) that is there also when it is killed: so the times are those of all processes, of
// those that CR has lost as well. At what it notes first in an attempt (entered), and after each iteration (done), the
// ranks meet at a barrier, so that waiting for the slowest one counts for what it was slow with. The clock is the one of the machine.
//
//	            iteration i        i+1, lost               i+1 again
//	rank 0   ...----done-write-|----done-write...           |entered   restored-----done-write-|-- ...
//	rank 1   ...----done-write-|----done X killed           |entered   restored-----done-write-|-- ...
//	                                     |<--- recovery --->|<- redone: all but the reading ->|
//
//	writing      waited for versions by the rank that has waited longest (the others wait for it in the next
//	             iteration), in all attempts; in one that has failed until the failure
//	recovery     from the moment before the kill until all ranks, survivors and new ones, have met in the next attempt
//	reading      of the rank that has come to it last, and waited for nobody
//	redone work  from there, without reading and writing, until the iteration is done again after which the
//	             failure was: with what a program sets up before it reads, and after
//	application  the rest: of a job without failures the start, all iterations and the end
//
// The definitions are the same for all. The killed process notes on disk before it dies that it does, so that its replacement does
// not die there as well: this time is the application's, a few milliseconds in each job with a failure.
//
// The tables are means with the interval of 95 % by the t distribution. The comparisons below them are of
// the jobs of the same run: median and its distribution-free interval.
package main
