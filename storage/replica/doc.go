// Package replica keeps data in the memory of a job's ranks, several copies of each block on
// different nodes, so that what is lost with a process comes back from the others in
// milliseconds, without a file and without spare processes (ReStore: Hübner, Hespe, Sanders,
// Stamatakis, "ReStore: In-Memory REplicated STORagE for Rapid Recovery in Fault-Tolerant
// Algorithms", FTXS 2022).
//
// # Terms
//
//   - A block is the smallest unit that has a number: fixed size, or sizes of its own.
//
//   - A version is all blocks that were submitted together. A store has one, and the next
//     while that is submitted.
//
//   - A range is a run of blocks of one submitter that stays together (the paper's permutation
//     range): it has one checksum and is sent as one piece.
//
//   - A seat is a rank of the communicator in which a version was submitted. Processes are
//     replaced or lost, ranks are renumbered; seats stay.
//
//   - A slot is a set of seats that hold the same ranges. A permutation of the ranges says which
//     slot each of them is in.
//
//     block --> range q --> slot floor(pi(q)*p/R) --> seats of the copies k = 0 .. r-1
//     or that of the submitter    place(slot) + floor(k*p/r)
//
// # Invariants
//
//   - Where a copy is follows from block, copy and the list of changes alone (layout.go): nobody
//     is asked, and nothing is stored for each block.
//   - A copy on a rank that is alive never moves, but by Rebalance.
//   - A version is there in full or not at all: the one before is given up only when the new
//     one is whole on all ranks.
//   - What is read was checked against the checksum that its submitter made.
//   - Memory that other processes may write to is not used again before all of them have said that they
//     have written: what a failed submit leaves is given back to the system.
package replica
