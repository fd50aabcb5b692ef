// Package storage keeps the versions of a checkpoint.
//
// Terms:
//
//   - A checkpoint is a named set of values. Each time it is written there is a
//     new version, numbered from 1; numbers only grow.
//   - An attempt is one run of the program, from its start or restart to its
//     end. A version belongs to the attempt that wrote it: number and attempt
//     together are its identity (ID), so that a writer of a dead attempt that
//     finishes late can never add to a version of another one.
//   - A part is one rank's file of a version, in the format of package
//     container. A version is complete when the parts of all ranks of the group
//     that wrote it are there. Nobody has to announce that: a part becomes
//     visible in one step, when it is whole and synced, and the last one
//     completes the version.
//   - A level is a place where versions are kept (a parallel file system, the
//     node's own disk, another node's memory). A Driver gives access to one.
//
// A Store is what programs use: the same portable code (integrity, identity,
// retention) over any Driver. Every driver passes the suite in storagetest.
//
//	checkpoint ──> Store ──> container (bytes of a part)
//	                 │
//	                 └─────> Driver: filestore, ... (where parts live)
//
// The layout follows CRAFT (Shahzad et al., IEEE TPDS 30(3), 2019, section 2.6);
// integrity, identity and retention are new here.
package storage
