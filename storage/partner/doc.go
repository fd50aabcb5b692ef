// Package partner protects the parts of a rank by a copy on another node.
//
// # Terms
//
//   - partner of a rank: the rank whose node holds the copy; package domain
//     chooses it, never on the same node.
//   - copy: an object of the partner's node (storage.KindCopy) with the bytes
//     and the name of the original part.
//
// The bytes go to the partner while the part's own file is written, in a stream of package
// exchange: a write waits only when its window is full. The partner needs no scheme for it:
// whoever answers the exchange there stores an object under the name that it is asked for
// (storage.ParseObjectKey).
//
//	rank 1   Write ──┬─> part on node 0
//	                 └─> stream ──> rank 5   copy on node 2
//
// # Invariants
//
//   - When Commit has returned nil the copy is published on the partner's node,
//     as durable as that node's storage makes it.
//   - Anything else leaves no copy, or a whole one when only the answer was lost.
//   - Ranks do not wait for each other: each copy is alone, so a rank that writes
//     nothing has nothing to tell.
//
// The partner level is that of SCR, which CRAFT uses (Shahzad et al., IEEE TPDS
// 30(3), 2019, section 2.4).
package partner
