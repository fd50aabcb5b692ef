// Package filestore keeps versions in a file system that all ranks share: a
// parallel file system, NFS, or the disk of the only machine.
//
//	<path>/<name>/                          one checkpoint
//	    v-000012-0123456789abcdef/          one version: number and attempt
//	        rank-00000-of-00002.craft       one part, whole and synced
//	        .rank-00001-of-00002.craft.tmp  a part being written (hidden)
//	    .trash-v-000009-89abcdef01234567/   a version being deleted (hidden)
//	    .lock                               which job writes here
//	    LATEST.json                         for people and tools only
//
// A part is written under its hidden name, synced, renamed, and then the
// version's directory and the checkpoint's are synced: Commit returns when a
// power failure can no longer take the part back. With SyncNone nothing is
// synced: a killed process still loses nothing, a crashed machine may lose the
// newest versions, and checksums find what it damaged.
package filestore
