// Package comm is communication between the ranks of a program: a group of them
// (Comm), messages between two, and collectives that all of the group take part in, as
// in MPI. Where a process has failed, operations that need it end with an error.
//
//	err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
//		c := z.Comm()                                                   // MPI_COMM_WORLD
//		err := comm.Send(ctx, c, (c.Rank()+1)%comm.Rank(c.Size()), 0, []float64{1, 2})
//		...
//		sum, err := comm.AllreduceOne(ctx, c, mine, comm.Sum[float64])
//		...
//	})
//
// # Terms
//
// A communicator is one rank's view of a group. A rank numbers a process in one
// communicator, an OriginalRank numbers it in the job's first one. A tag tells
// messages between the same two ranks apart. A request is an operation under
// way; waiting with a context that ends withdraws it. The zero Request has
// completed: it stands where a rank has no neighbour (MPI_PROC_NULL).
//
// # Layers
//
//	Send Recv Isend Irecv Sendrecv      typed, between two ranks
//	Isendv Itake                        bytes, from several pieces of memory, into none
//	Barrier Bcast Reduce Allreduce ...  typed, all ranks, reserved tags
//	--------------------------------    below: bytes
//	driver.Comm, driver.Request         what an engine implements
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
// With AnyOrder it is still the same on every rank of one call. Reduce is as
// reproducible as Allreduce, but associates along the binomial tree of its root.
//
// # Algorithms
//
// m is the length of one rank's data in bytes, n the number of ranks, log is
// log2 rounded up. Messages and bytes are what the busiest rank sends, or
// receives where that is more; "agree" is an exchange of lengths, in log messages
// of 32 bytes each way unless told otherwise.
//
//	collective    data                        algorithm                  messages  bytes
//	Barrier       -                           dissemination              log       0
//	Bcast         m <= 256 KiB                binomial tree              log       m log
//	              above, s segments           agree, binomial tree       s log     m log
//	              s+n-2 < s log               agree, chain               s         m
//	Reduce        n < 4 or m <= 512 KiB       binomial tree              log       m log
//	              above                       agree up and down, blocks  2(n-1)    2m (n-1)/n
//	Allreduce     n m <= 64 KiB               dissemination, fold all    log       m (n-1)
//	              above                       agree, blocks              2(n-1)    2m (n-1)/n
//	  AnyOrder    m <= 64 KiB                 recursive doubling         log       m log
//	              n >= 16, a power of two     agree, Rabenseifner        2 log     2m (n-1)/n
//	              other n                     agree, blocks              2(n-1)    2m (n-1)/n
//	Gather,       n <= 16                     direct                     n-1       m (n-1)
//	Scatter       n m <= 64 KiB               binomial tree              log       m (n-1)
//	              above                       agree, direct              n-1       m (n-1)
//	Allgather     n m <= 64 KiB               dissemination              log       m (n-1)
//	              n <= 16 or n m <= 1 MiB     agree, all at once         n-1       m (n-1)
//	              above                       agree, ring                n-1       m (n-1)
//	Gatherv, Scatterv                         counts, direct             2(n-1)    all but its own
//	Allgatherv                                counts, as Allgather       n-1       m (n-1)
//	Alltoallv                                 counts, all at once        2(n-1)    all but its own
//	SparseAlltoallv, d parts                  answered, then barrier     2d+log    its parts
//
// Blocks: each rank combines one n-th of the data and gives the result to the
// others (or to root), in two rounds. Long reductions go through a segment of
// 1 MiB after the other, so that working memory does not grow with the data: their
// messages in the table are those of a segment. For n that is no power of two,
// recursive doubling has one round more.
//
// The limits balance the wake-up of a blocked rank (about 50 us between
// processes) and the cost of one more message under way (some us) against the
// bytes saved (some GB/s). That is why few ranks do not use trees or rings for
// what can be under way at once. They depend on nothing but n and the lengths,
// which all ranks know or agree on first. What ranks send in most of them is
// asserted in cost_test.go.
//
// The algorithms are chosen for tens to a few hundred ranks. An engine with
// collectives of its own is to be asked at the top of each exported collective,
// through an optional interface of driver.Comm; no engine has them yet.
package comm
