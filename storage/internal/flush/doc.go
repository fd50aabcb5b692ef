// Package flush copies versions to the home, which is the parallel file system: one after
// the other, in the background, not faster than it may, and before all others those that
// somebody waits for. Where the parts are, and what is told to whom, is the business of a
// Placement.
//
// A version that is deleted is canceled: the copy that is being made ends before its next
// piece and is thrown away, and nobody waits for that, since the file system may not answer.
package flush
