// Package afttest runs whole jobs in one process, for tests of programs that survive
// failures: ranks are goroutines on nodes of a Cluster, and a test kills ranks and nodes
// when it likes. Who has failed, who agrees and where replacements start is decided by the
// same state machines as in a job of processes.
//
//	cluster := &afttest.Cluster{Nodes: 4, Spares: 1, Dir: t.TempDir()}
//	err := cluster.Run(t.Context(), 8, func(ctx context.Context, r *afttest.Rank) error {
//		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
//			if z.Epoch() == 0 && z.Comm().Rank() == 3 {
//				r.KillNode(r.Node())
//			}
//			return comm.Barrier(ctx, z.Comm())
//		})
//	})
//
// The context of a rank carries its session, so that aft.Run in it belongs to the job: a
// program is tested as it is; with another context it is a job of one rank, as it is without
// a launcher. A body that calls no aft.Run has Rank.Comm.
//
// # When
//
// A program under test calls a function of the test where that is to kill, once: a replacement
// comes to the same place (Rank.Replacement, Zone.Epoch). Without one its steps are seen from
// outside, if it has said them (Zone.Step):
//
//	r.Session().Observe(&comm.Observer{Collective: func(c comm.Collective) func(error) {
//		if c.Step == 250 && r.Session().Place().Original == 2 && !r.Replacement() {
//			r.KillNode(r.Node())
//		}
//		return nil
//	}})
//
// # Storage levels
//
// The nodes keep versions in their directories if the checkpoint is made with
// checkpoint.WithNodePath(r.NodeDir()): CRAFT_NODE_PATH, which a launcher sets for each rank,
// is one for all goroutines.
//
// # What ends with whom
//
// A rank that is killed takes its messages along, its context ends, and all that it still
// does with its communicators is an error; its goroutine lives until it looks at one of
// them. So does each rank of a node that is killed, and the directory of the node is
// removed. A killed node stays dead for its job; the next job of the cluster finds a new
// machine in its place, with an empty directory.
//
// # The clock
//
// Nothing here needs real time. In a bubble of testing/synctest the clock stands still
// while all ranks wait, and what takes hours (a delay before a recovery, a period of a
// storage level, a replacement that has to wait) takes none; a job that hangs is a
// deadlock that the bubble reports.
package afttest
