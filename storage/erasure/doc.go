// Package erasure protects the parts of a set of ranks by parity: with m
// parities, whatever m members lose, the others bring it back. One parity is
// XOR; more are Reed-Solomon (github.com/klauspost/reedsolomon).
//
// # Terms
//
//   - set: the ranks that protect each other, on different nodes (package
//     domain chooses them). A member is one of them, numbered from 0; s is how
//     many there are, m the parities, k = s-m.
//   - part: the file of a member that is to be protected, of any size.
//   - block: a piece of a part, all of one length but the last.
//   - stripe: k blocks of data of k members, and the m blocks of parity over
//     them, which the other m members hold. A stripe is as long as its longest
//     block of data; shorter ones count as followed by zeros.
//   - row: which of the m parities of a stripe; column: which of the k blocks.
//   - parity file: the parity blocks that a member holds, in order of stripes.
//
// # Layout
//
// In stripe t the members t, t+1, ... t+m-1 (modulo s) hold parity, the others
// give their next block. So the parity, the work and the traffic are spread
// evenly: with parts of one size each member stores m/k of a part. For s = 4,
// m = 1, with block b of member i as i.b and parity as P:
//
//	stripe    0    1    2    3    4    5
//	member 0  P    0.0  0.1  0.2  P    0.3
//	member 1  1.0  P    1.1  1.2  1.3  P
//	member 2  2.0  2.1  P    2.2  2.3  2.4
//	member 3  3.0  3.1  3.2  P    3.3  3.4
//
// Everything follows from Layout and, where parts end, from their sizes (Plan), which
// need not be known while parity is computed: the length of a stripe follows from its own
// blocks.
//
// A holder needs the data of its own stripes only, a block from each of the k
// givers, and adds them up as they arrive (Code.factor). The parities are those of
// the library's default matrix (a Vandermonde matrix made systematic, over
// GF(2^8) with the polynomial 0x11D); a single one is the XOR.
//
// # Scheme
//
// A Scheme makes the parity while the parts are written. Each member is giver of
// its own part and holder of parity of the others' parts. There is no collective:
// each giver has a stream to each other member (package exchange), and a holder
// works on a version as its parts come, in the background too.
//
//	giver 1  Write ──┬─> part on its own node
//	                 ├─> stream ──> holder 0 ┐ collector: adds up what all give,
//	                 ├─> stream ──> holder 2 │ stripe by stripe, and writes the
//	                 └─> stream ──> holder 3 ┘ parity file of its node
//
// A block goes to the holders of its stripe's parity only. At the end of a stream
// are size and checksum of the part. When a holder has those of all members, its
// own included, it publishes its parity file, and only then the givers' Commits
// return. So a Commit that has returned nil says that all parity of this part is
// published. When a member gives up (Abort, Skip), dies, or a holder's node is
// full, the parity of the version is thrown away, and all get an error that names
// the rank; parts are not touched, and what has been published stays. A member
// that dies when it has given all of its part is protected by it.
//
// The next versions do not wait: each has collectors of its own.
//
// # Why nobody waits for ever
//
// A holder takes in a window of stripes; a giver that is ahead of it waits in
// Write. Every member gives its blocks in the order of the stripes, the same for
// all holders. Of all members that wait, take the one whose block is of the lowest
// stripe t. Its holder's lowest open stripe u, with t beyond the window from u,
// lacks a block of some giver. That giver has not come to u, then it is lower than
// t and does not wait; or it has, and nothing holds the block back: a giver's data is
// sent from where it is, at once. At the end of its part a giver sends to all holders at
// once. What the proof needs of the caller:
//
//   - Every member either writes a version, from Create to Commit or Abort, or
//     calls Skip.
//   - Between Create and Commit (or Abort) it waits for no other member.
//   - The exchange has places for as many streams to one rank (Options.Streams) as
//     versions are written at once.
//
// # Rebuilding
//
// RebuildPart and OpenRebuilt find the set by the identity in any parity file of
// the version (SetOf), and read the other members' files wherever they are. Where
// there is parity of several sets that the part is in, they take the one that
// suffices. Lost parity is not rebuilt but made anew by a Scheme, of which the set
// may be another one.
//
//	findSurvivors   which files of which set are left
//	rebuild         jobs, each of which reads what gives a block of the part back, and combines it
//	                RebuildPart: writes all of a part, with several jobs at once
//	                OpenRebuilt: has a job where somebody reads
//
// # Parity file
//
// All numbers are little-endian; checksums are CRC-32C.
//
//	header   magic, version u16.u16, flags u32; members u16, parity u16,
//	         block u32; member u16; identity: length u16 and bytes; checksum u32
//	blocks   for each stripe that is not empty: the block, and the checksum u32
//	         of the stripe's number (u64) followed by the block
//	footer   for each member of the set: size u64 and checksum u32 of its part
//	trailer  size of the file u64, checksum of the header u32, of the footer u32,
//	         flags u32, checksum of the trailer so far u32, end magic
//
// # Invariants
//
//   - The parts of up to m lost members of s are rebuilt bit for bit, whatever
//     their sizes, 0 included.
//   - Every byte of a parity file is covered by a checksum or must have one
//     value only. A damaged block is found when it is read, and counts as lost
//     in its stripe alone.
//   - A part is rebuilt to what it was (as its checksum says), or there is an
//     error.
//   - Lengths in a file are never trusted: they must fit its size before
//     anything is read or allocated by them.
//   - A parity file of a Scheme is published only when it covers the whole parts
//     of all members. The memory of a collector is bounded by its window, that of
//     a rebuilding by the stripes that are under way.
//
// The sets are those that CRAFT uses through SCR (Shahzad et al., TPDS 30(3),
// 2019, section 2.4); Reed-Solomon sets are as in FTI.
package erasure
