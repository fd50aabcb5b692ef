// Package filestore keeps versions in a file system that all ranks share: a
// parallel file system, NFS, or the disk of the only machine.
//
//	<path>/<name>/                          one checkpoint
//	    v-000012-0123456789abcdef/          one version: number and attempt
//	        rank-00000-of-00002.craft       one part, whole and synced
//	        .rank-00001-of-00002.craft.tmp  a part being written (hidden)
//	    .trash-v-000009-89abcdef01234567/   a version being deleted (hidden)
//	    .spare/rank-00000-of-00002.craft    to be written over (hidden)
//	    .lock                               which job writes here
//	    LATEST.json                         for people and tools only
//
// A part is written under its hidden name, synced, renamed, and then the version's directory
// and the checkpoint's are synced: Commit returns when a power failure can no longer take the
// part back. With SyncNone nothing is synced: a killed process still loses nothing, a crashed
// machine may lose the newest versions, and checksums find what it damaged.
//
// # Spares
//
// A version that is removed gets a hidden name, and then, if it has a file of 1 MiB or more,
// that of the spares, in one step for all its files. The writer of the next version takes the
// file of its own name from there, whichever process it is, and writes over it if the
// system grants that: on a file system of this machine, if nobody else has it open or knows
// another name of it. Otherwise it deletes it and makes a new one, so that ranks share the
// work of the deletion. Who reads a version that is removed so reads its bytes to the end.
// With SyncFull the first rename is durable before the second one begins: no crash of the machine
// gives a version back with other bytes in it. Without syncs a crash can leave anything, and
// the checksums tell.
//
// The spares take the space of one version. Whoever finds the file system full drops them
// first, as Close does.
package filestore
