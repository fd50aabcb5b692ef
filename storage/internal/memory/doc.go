// Package memory keeps objects in the memory of a rank: parts of versions, and copies of the
// parts of other ranks. It lasts as long as the rank's part in its job: from one attempt of a
// zone to the next, and from one checkpoint of a name to the next.
//
// # Terms
//
//   - An object has the key that a file on a node would have (storage.ObjectKey): KindPart is
//     this rank's own part, KindCopy that of another one.
//   - An extent is a piece of memory of a fixed size, which comes from the operating system and
//     not from Go's heap, in slabs. An object is a list of pieces of extents. Extents that nobody uses any
//     more are used again before new ones are touched, which costs far more than to write them.
//   - A slab is memory that other processes of the host can map, if the system allows that. A window is
//     one of another process.
//   - Objects are those of one checkpoint. All checkpoints of a rank share one Store, and its limit.
//   - A spare copy is one more than memory is to be enough for. It gives way to what else is written.
//   - Holders of a part are the ranks that keep it, its own one first. Scheme gives it to them.
//
// A part on its way:
//
//	sharing --+-- own memory (writer), in steps of pieceSize
//	          +-- sender: where it is, and its uses -----> receiver: window, copy, uses
//	              or, if that rank cannot read it, bytes -> receiver: Expect
//	              in the end the recipe, if pieces of the version before are repeated
//
// # Invariants
//
//   - An object is visible when it is whole, by its Commit. One of the same key that is there
//     stays until then.
//   - Memory is not used again while anybody reads it, or what comes from another rank is still
//     to be put into it.
//   - Who has read in the memory of another process looks then whether it was still what it was told of: what
//     its owner has done meanwhile makes the copy fail, and never wrong.
//   - The memory of a part is its own until no stream needs it, whether its version is forgotten or not.
//   - Of a version that was forgotten nothing is taken any more: what is late is refused.
package memory
