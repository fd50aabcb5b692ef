// Package placement builds the levels that a policy asks for out of the drivers:
// it is the storage.Driver of a checkpoint whose versions are on the nodes, with
// copies or parity on other nodes, and on the parallel file system.
//
//	checkpoint ──> storage.Store ──> Placement ─┬─> nodelocal   this node
//	                                        ├─> exchange ──> nodelocal   another node
//	                                        ├─> partner, erasure   what protects a part
//	                                        └─> home   the parallel file system
//
// # Terms
//
//   - home: the driver of the parallel file system; what it holds is what a
//     checkpoint without levels would hold.
//   - node: what shares one directory (CRAFT_NODE_PATH) on one machine; nodes
//     are numbered by their lowest rank, which is the node's leader.
//   - scheme: how a version is protected on the nodes: not at all (local), by a
//     copy (partner), by parity (xor, rs).
//   - catalog: what is where (package catalog).
//   - host of a part: the rank that has it on its node, or that gets it there
//     (Gather). Of a version written by as many ranks as there are now, whose
//     part is where its rank is, that is the rank itself.
//   - heal: to bring back the redundancy that a version has lost.
//   - flush: to copy a version from the nodes to the home.
//   - spill: to write a part to the home because the node has no room.
//
// # Invariants
//
//   - The identity of a part (version, attempt, rank, number of ranks) names its
//     bytes, wherever they are: original, copy, what parity gives back, and what
//     is at home are the same bytes. So restart, repair, healing and flush are one
//     thing: to find the bytes of a part.
//   - A part is published on its node as without levels: whole and synced. A
//     copy or parity too. A version is complete when each part is somewhere or can
//     be rebuilt; nobody announces that.
//   - What fails while a part is protected makes the version less safe, not
//     invalid: the caller is told the level that was reached.
//   - The last version of each level stays until a newer one has reached it.
//   - The parallel file system sees nothing of a version that is not flushed,
//     but for the notes for people.
//
// The levels are those of SCR, which CRAFT uses (Shahzad et al., IEEE TPDS 30(3),
// 2019, sections 2.4 and 2.5); flush in the background is VeloC's.
package placement
