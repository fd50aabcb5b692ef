// Package halo has the ranks of a job be neighbours of each other: each has one box of a
// cube, and what its mesh (package lagrange) needs of the elements around the box comes from the
// ranks that have these.
//
//	. . . . . . . . .        the box of this rank, and around it the elements
//	.+-------------+.        that touch it, on up to 26 other ranks; more, where
//	.|             |.        boxes are of several sizes
//	.|             |.
//	.+-------------+.
//	. . . . . . . . .
//
// Who sends what to whom follows from the boxes of all ranks (lists.go), which all know.
// In a step each rank sends two messages to each neighbour: forces on nodes that they
// share, and gradients of elements with a common face. Both are put under way at once, and
// waited for together (exchange.go).
package halo
