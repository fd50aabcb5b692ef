// Package archive reads checkpoints outside the programs that wrote them: for analysis, for
// plots, for taking over what a job with another number of ranks left behind. It changes
// nothing and takes no lock; the job may go on meanwhile.
//
//	a, err := archive.Open(ctx, "cp/solver")
//	versions, err := a.Versions(ctx)         // oldest first, with their state and why
//	s, err := a.Latest(ctx)                  // what a restart would take, or
//	s, err := a.Snapshot(ctx, versions[2].ID)
//	v, shape, err := archive.Array[float64](ctx, s, "v")      // put together from all ranks
//	err = s.Read(ctx, "seed", 3, &seed)                       // the value of rank 3
//	keys, err := s.Keys(ctx)                                  // those of all ranks
//
// What is read is found as a restart finds it: on the parallel file system, on the nodes
// whose directories are on this machine, in copies, or out of parity; bytes that are wrong
// in one place are taken from the next, and every byte is verified. What is on nodes
// elsewhere is not lost: an error that matches ErrElsewhere names the hosts and directories.
package archive
