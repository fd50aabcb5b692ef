// Package placement is the door to where the versions of a checkpoint go: over the nodes of a
// job, with copies or parity on other nodes, and to the parallel file system, as a policy
// says; or there alone.
//
//	checkpoint ──> storage.Store ──> Placement ─┬─> nodelocal   this node
//	                                            ├─> exchange ──> nodelocal   another node
//	                                            ├─> partner, erasure   what protects a part
//	                                            └─> home   the parallel file system
//
// # Parts
//
//   - register: owns the catalog (package catalog) and the one lock for it.
//   - planner: the levels that the next version is to have, and those that are owed.
//   - schemes: what protects parts on other nodes; schemeBuilder makes them.
//   - surveyor, finder, creator, gatherer: find out what is where, open the bytes of parts,
//     write parts, and bring them to the nodes where they belong.
//   - flushing, healing, removing: what the workers ask for (packages flush, heal, remove).
//   - commands and handler: what ranks ask of one another.
//   - idleness: whether the other ranks still want something of this one, which is to leave.
//   - Absence: what is missing, why, and what to do about it, for people.
//   - troubles: that a node does not take parts, told once.
//
// # Terms
//
//   - home: the driver of the parallel file system; what it holds is what a
//     checkpoint without levels would hold.
//   - node: what is lost together, as the communicator says (comm.Comm.Nodes), and has one
//     directory (CRAFT_NODE_PATH); if it does not say, what shares one directory on one machine.
//     Nodes are numbered by their lowest rank, which is the node's leader.
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
