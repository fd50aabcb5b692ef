// Package manifest is about NODES.json, the manifest of the nodes that hold versions of a
// checkpoint. It lies beside the versions on the parallel file system: what it says,
// how it changes, and who writes it.
//
// # Terms
//
//   - id: the identity of the checkpoint's store. What nodes have belongs to it.
//   - newest: the newest version that the nodes had when the manifest was written.
//   - reserve: numbers that an attempt may have used. Whoever has not seen the versions of
//     the attempt that was the last to use the nodes, because these are absent or the
//     levels are not in use, goes on behind it. It is ahead of the numbers by as many as the
//     attempt has used, so that the manifest is seldom written.
//   - witness: a node on which that attempt itself has stored. Since each of its nodes has parts
//     of each of its versions, what is found there is all that there is. What is brought to a
//     node later, by a restart or by healing, is of an older version perhaps: such a
//     node is marked as healed, and is no witness.
//
// # Invariants
//
//   - Before anything is brought to a node that is no witness, the new attempt takes the
//     reserve over; one that ends without a version gives it back with such nodes marked.
//   - What could not be written does not count.
//   - One Writer writes the manifest of a job, that of rank 0.
//
// Everything here is knowing, but for Writer and Read, which use a storage.MetadataStore.
package manifest
