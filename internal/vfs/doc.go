// Package vfs is the seam between this project and the file system. Everything
// that touches files goes through FS, so that tests can lose power after every
// single operation and can make every operation fail.
//
// # Terms
//
//   - An operation (Op) is one call that reaches the file system: a create, a
//     write, a sync, ...
//   - Durable is what a loss of power leaves: bytes of a file after its Sync,
//     names in a directory after its SyncDir. The two are independent: a file
//     needs both.
//   - A crash is a loss of power at one moment. What is not durable then may be
//     lost, kept, or kept in part.
//
// # Implementations
//
//	OS()                     the real file system
//	NewMem()                 memory; Mem.Crash clones what a crash would leave
//	WithErrors(fsys, inject) any of them, with operations made to fail
//
// All of them are Overwriters: an old file can be written over where the system
// knows that nobody reads it.
//
// WithErrors may wrap any FS, itself included. MkdirAll, RemoveAll, ReadFile and
// WriteFile are built from the operations of FS, so they are crashed and failed
// step by step like everything else.
//
// # Publishing a file
//
// WriteFile shows the order that survives a crash at any moment: write under a hidden name,
// Sync, Close, Rename, SyncDir of the directory. Without the Sync the new name may hold an
// empty or torn file; without the SyncDir the old file may come back. A new directory needs a
// SyncDir of its parent as well (see MkdirAll).
//
// After a failed Sync nothing is known about the file: the system may have dropped the data and
// report success the next time. Write the file again instead of calling Sync again.
package vfs
