// Package container is the file format of one rank's file of one version: it
// encodes the values of a checkpoint into one stream of bytes and reads them
// back, verified. docs/file-format.md is the format's normative description.
//
// # Terms
//
// File (the "part" of that page), section, chunk, split section and reference are
// explained there.
//
//   - raw bytes: what the value is made of; stored bytes: what the file holds
//     of them, raw or compressed.
//   - Delta: what an Encoder knows of the versions so far, to make references.
//   - grade: how safe a version is kept; references are to versions that are at
//     least as safe.
//   - source: one of several places that have the same file.
//   - digest: 64 bits computed from the checksums of a value's raw chunks;
//     equal values with equal chunk sizes have equal digests.
//
// # Layout
//
//	header    who wrote this: lineage, attempt, version, rank
//	chunks    in order; large sections start at a multiple of 4 KiB
//	footer    index: sections and their chunk records
//	trailer   48 bytes: where the footer is, the size of the file
//
// # Invariants
//
//   - Every byte of a file is covered by a checksum or must have one value
//     only, so that Open and Verify together find one flipped bit anywhere.
//   - Bytes handed to a reader of a section have been verified. Only wrong
//     bytes match ErrDamaged; an input error of the file is passed through.
//   - The same header, sections, compression and chunk size give the same
//     bytes, whatever the number of workers. With references: after the same
//     versions before.
//   - A reference is to the file that has the bytes, never to another reference,
//     and it names that file by its checksums. What is read through it is what a
//     full file would hold, with the same digests.
//   - With several sources each piece (header, trailer, footer, chunk) may come
//     from another one: a file is readable as long as each piece is good
//     somewhere.
//   - Lengths in a file are never trusted: what a reader allocates is bounded
//     by the size of the file and the largest chunk, 64 MiB.
//   - Encoding writes raw chunks straight from the user's memory and reading
//     fills the user's memory directly; the buffers for the rest are bounded to
//     about 40 MiB and kept.
//
// The chunked, checksummed file with an index at its end takes the place of
// the one-file-per-value layout of CRAFT (Shahzad et al., TPDS 30(3), 2019,
// section 2.6). References, found by comparing hashes of chunks, are what FTI's
// differential checkpointing does (Keller and Bautista-Gomez, CCGrid 2019).
package container
