// Package container is the file format of one rank's file of one version: it
// encodes the values of a checkpoint into one stream of bytes and reads them
// back, verified. docs/file-format.md is the format's normative description.
//
// # Terms
//
//   - file: what one rank stores of one version.
//   - section: one value, found by its key.
//   - chunk: a piece of a section, the unit of checksums, compression and
//     parallel work. All chunks of a section have the same raw size but the
//     last, which may be shorter.
//   - raw bytes: what the value is made of; stored bytes: what the file holds
//     of them, raw or compressed.
//   - split section: a replicated value of which each rank's file holds only
//     some of the chunks; all files hold the checksums of all chunks.
//   - digest: 64 bits computed from the checksums of a value's raw chunks;
//     equal values with equal chunk sizes have equal digests.
//
// # Layout
//
//	+----------------------+
//	| header               |  who wrote this: lineage, attempt, version, rank
//	+----------------------+
//	| chunks, in order     |  large sections start at a multiple of 4 KiB
//	+----------------------+
//	| footer               |  index: sections and their chunk records
//	+----------------------+
//	| trailer, 48 bytes    |  where the footer is, the size of the file
//	+----------------------+
//
// # Invariants
//
//   - Every byte of a file is covered by a checksum or must have one value
//     only, so that Open and Verify together find one flipped bit anywhere.
//   - Bytes handed to a reader of a section have been verified. Only wrong
//     bytes match ErrDamaged; an input error of the file is passed through.
//   - The same header, sections, compression and chunk size give the same
//     bytes, whatever the number of workers.
//   - Lengths in a file are never trusted: what a reader allocates is bounded
//     by the size of the file and the largest chunk, 64 MiB.
//   - Encoding writes raw chunks straight from the user's memory and reading
//     fills the user's memory directly; the buffers for the rest are bounded to
//     about 40 MiB and kept.
//
// The chunked, checksummed file with an index at its end takes the place of
// the one-file-per-value layout of CRAFT (Shahzad et al., TPDS 30(3), 2019,
// section 2.6).
package container
