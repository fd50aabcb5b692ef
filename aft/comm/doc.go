// Package comm is what a program and the layers above see of communication: a
// group of ranks (Comm), messages between two of them, and collectives that all
// ranks of the group take part in. It imports no engine; engines import it.
//
// # Terms
//
// A communicator is one rank's view of a group. A rank numbers a process in one
// communicator, an OriginalRank numbers it in the job's first one. A tag tells
// messages between the same two ranks apart. A request is an operation under
// way; waiting with a context that ends withdraws it.
//
// # Layers
//
//	Send Recv Isend Irecv Sendrecv      typed, between two ranks
//	Barrier Bcast Reduce Allreduce ...  typed, all ranks, reserved tags
//	--------------------------------    below: bytes
//	Comm, Request                       two methods that an engine implements
//
// The typed functions send the memory of a slice as it is, without a copy: all
// ranks must have the same byte order and the same size of int.
//
// # Collectives
//
// Every rank of a communicator calls the same collectives in the same order;
// collectives of different kinds may run at the same time, two of one kind may
// not. Arguments that do not fit each other, and lengths that differ between
// ranks, end in ErrTruncated on the ranks that notice, and never in a rank that
// waits for ever: a rank that has noticed goes through the remaining exchanges
// with a refusal in place of its data. Any other error (a context that ended, a
// failed process) leaves the collective unfinished, and messages of it may still
// be under way: the communicator is then good for messages between two ranks
// only, until it has been replaced.
//
// Allreduce folds the ranks' values from rank 0 upwards, whatever the algorithm,
// so its result is the same bits on every rank and in every run of the same size.
// Reduce is as reproducible, but associates along a tree.
//
// The algorithms are chosen for tens to a few hundred ranks. An engine with
// collectives of its own is to be asked at the top of each exported collective,
// through an optional interface of Comm; no engine has them yet.
package comm
