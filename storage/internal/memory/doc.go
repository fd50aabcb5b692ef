// Package memory keeps objects in the memory of a rank: parts of versions, and copies of the
// parts of other ranks. It lasts as long as the rank's part in its job: from one attempt of a
// zone to the next, and from one checkpoint of a name to the next.
//
// # Terms
//
//   - An object has the key that a file on a node would have (storage.ObjectKey): KindPart is
//     this rank's own part, KindCopy that of another one.
//   - An extent is a piece of memory of a fixed size, which comes from the operating system and
//     not from Go's heap. An object is a list of pieces of extents. Extents that nobody uses any
//     more are used again before new ones are touched, which costs far more than to write them.
//   - Objects are those of one checkpoint. All checkpoints of a rank share one Store, and its limit.
//   - Holders of a part are the ranks that keep it, its own one first. Scheme gives it to them.
//
// # Invariants
//
//   - An object is visible when it is whole, by its Commit. One of the same key that is there
//     stays until then.
//   - Memory is not used again while anybody reads it, or what comes from another rank is still
//     to be put into it.
//   - Of a version that was forgotten nothing is taken any more: what is late is refused.
package memory
