// Package nodelocal keeps versions in the fast storage of one node (tmpfs,
// NVMe), which the ranks of a job on that node share. It is the innermost level
// of CRAFT's node-level storage (Shahzad et al., IEEE TPDS 30(3), 2019, sections
// 2.4 and 2.5).
//
//	<root>/                                    CRAFT_NODE_PATH
//	    lanczos-4f1c0a9be2d37788/              the place: checkpoint name and id
//	        OWNER.json                         who made it, where, for what
//	        JOB.json                           who uses it; locked meanwhile
//	        v-000012-0123456789abcdef/         what this node has of one version
//	            rank-00002-of-00008.craft          a part of a rank of this node
//	            copy-rank-00005-of-00008.craft     a copy of another node's part
//	            parity-rank-00002-of-00008.craft   what rank 2 keeps for its set
//	            .copy-rank-...craft.<random>.tmp   being written (hidden)
//	        .trash-v-000009-89abcdef01234567/  being deleted (hidden)
//	        .spare/rank-00002-of-00008.craft   to be written over (hidden)
//
// # Terms
//
//   - The root is a directory on the node, of one user (/nvme/me) or of all
//     (/tmp). It belongs to one node alone: no network file system.
//   - A place is the directory of one checkpoint below the root. Its id is
//     derived from the checkpoint's directory on the parallel file system
//     (Config.Home) and the identity of the store there (Config.ID), so two
//     checkpoints of one name do not meet, nor does one meet what a deleted one
//     has left, and a restarted job finds its place again.
//   - An object is a file in a place: a part, a copy of a part, or parity
//     (Kind). Its Key is kind, version and rank. It may be of any rank,
//     whichever node that rank is on.
//   - A spare is the file of an object that was removed: the next object of its
//     kind and rank is written over it, as in package filestore, which does it.
//     In memory that takes half of the time (BenchmarkSpare).
//
// # Invariants
//
//   - Only a place is used that is a real directory, belongs to this user, is
//     closed to everybody else, and that nobody else can exchange for another
//     one: ErrNotPrivate. In a directory like /tmp the sticky bit sees to that.
//     Who owns the root, and its group, are trusted.
//   - Only a place is used that was made for this checkpoint (ErrForeign) at this
//     path on this node (ErrCopied). What is not ours is not deleted either.
//   - An object is visible when it is whole: hidden name, sync, rename, sync of
//     the directories, as in package filestore. The hidden name is random, so
//     that neither another process of the node nor what a killed one has left is
//     in the way; of two that write one object at once, the last one's stays.
//   - There is at most one spare for each kind and rank, so the storage holds one
//     version more than is asked for, of what this node has of it. Spares are
//     given up when the storage is full, and by Prepare where nothing else is
//     here of their kind and rank.
//   - A write that fails, on a full storage (ErrNoSpace) for example, leaves
//     what was there before as it was.
//
// Store is the storage.Driver of the parts. Of gives the same for the copies
// and the parities, so that everything that works on a Driver, storage.Store
// and its checks above all, works on them too. None of them knows what is on
// other nodes: whether a version is complete is decided by who has all lists.
//
// The job that holds the lock of the checkpoint's directory on the parallel file
// system is the one that writes here. That does not tell jobs apart which see
// different directories under one path, as containers may: a copy of a directory leads
// to the place of the original. So the processes of the job have JOB.json locked, where
// the file system can do that, from before they look at the place until Leave.
package nodelocal
