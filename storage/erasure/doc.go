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
// Everything follows from Layout and, where parts end, from their sizes (Plan).
// When parity is computed while the parts are written, the sizes are not known
// before the end, and need not be: the length of a stripe follows from its own
// blocks.
//
// A holder needs the data of its own stripes only, a block from each of the k
// givers: Code.AddBlock adds them up as they arrive. The parities are those of
// the library's default matrix (a Vandermonde matrix made systematic, over
// GF(2^8) with the polynomial 0x11D); a single one is the XOR.
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
// Sizes and checksums of the parts are at the end because only then they are
// known.
//
// # Invariants
//
//   - Up to m lost members of s are rebuilt bit for bit, for any sizes of the
//     parts, 0 included.
//   - Every byte of a parity file is covered by a checksum or must have one
//     value only. A damaged block is found when it is read, and counts as lost
//     in its stripe alone.
//   - A part is rebuilt to what it was (as its checksum says), or there is an
//     error.
//   - Lengths in a file are never trusted: they must fit its size before
//     anything is read or allocated by them.
//   - Encoding and decoding allocate no buffers per stripe and copy no data.
//
// The sets are those that CRAFT uses through SCR (Shahzad et al., TPDS 30(3),
// 2019, section 2.4); Reed-Solomon sets are as in FTI.
package erasure
