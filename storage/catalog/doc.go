// Package catalog knows what there is of the versions of a checkpoint, and what follows
// from it: what can be had and from where, how safe it is, what a loss would take. It
// opens nothing and asks nobody. Those who do, in a job or for a tool, enter what they
// find (Findings), and what they have changed.
//
// # Terms
//
//   - place: a node, by the number that whoever looks gives it, or the home, which is the
//     parallel file system.
//   - object: a part, a copy of one, or parity over a set of them (storage.ObjectKey). What is
//     at home are parts.
//   - set: a group of ranks with parity over their parts.
//   - facts: what the header of a version's parts says that others need to know.
//   - away: what a place may have and cannot show now. It is not gone.
//
// # Invariants
//
//   - A part can be had if its bytes are at some place as such, or if parity gives them
//     back. A version can be had if all of its parts can.
//   - What the name of a file says need not be true: nothing is counted up to a number
//     out of it.
//   - A View is the catalog as it is after a loss: the same questions, fewer places. It
//     costs nothing to make one.
//
// The place of a catalog in a job is storage/placement, which has one on each rank; they are the
// same while the ranks decide things from them together. It is not safe for concurrent
// use: whoever owns it has a lock.
package catalog
