// Hydro computes an explosion (the blast wave of Sedov) on a mesh in three dimensions that moves
// with the gas, and survives the loss of ranks and nodes: a model of how to write a stencil
// or mesh code with this toolkit. It does what the proxy application LULESH does, one of the
// programs of the Reinit++ paper (Georgakoudis, Guo and Laguna, ISC 2020).
//
//	go run ./examples/hydro
//	go run ./examples/hydro -np 8 -kill 3@50
//	go run ./examples/hydro -np 8 -kill 3@50 -recovery SHRINKING -fresh
//
// The cube of elements is divided into one box for each rank (package boxes): on 8 ranks,
// or 27, into cubes, on any other number into boxes as even as they can be. Each rank has the mesh
// of its box (package lagrange, which knows of no ranks), and its neighbours give it what it needs of theirs
// (package halo). Everything has the same bits on any number of ranks.
//
// solve.go is what a program has to do to survive, and all of it. Each attempt of the zone
// makes box, mesh and neighbours anew for the ranks that there are now, registers the fields,
// and goes on from the newest checkpoint, whoever wrote that: ranks as many or as few as there
// were then. So policies of recovery differ in nothing that stands there, nor does a start of the
// whole job on another number of ranks.
//
// # How to checkpoint a mesh
//
// A checkpoint has each field as a box of one global array (state.go):
//
//	clock                          Replicated: the same on all ranks
//	energy, pressure, viscosity,   PartitionedBox of the elements of the cube: of the rank's
//	volume                         box, straight from the mesh
//	position, velocity             PartitionedBox of the nodes of the cube, with three numbers at each:
//	                               of the nodes that the rank owns
//
// Boxes of a global array must cover it once. Neighbours share the nodes between them, so
// that each node has an owner, whose value is stored. Before a write those are copied out of
// the mesh; after a restart they are copied back, and the halo gets the others from their owners.
//
// Values are added in the same order on all ranks. With -async zero-copy a version must be
// complete before the fields change, in the middle of the next step; with copy it is written
// while that computes.
//
// # The size
//
// It belongs to the problem, and not to the number of ranks: the cube of a job stays the same
// when ranks are lost, and when it is started again with more or fewer. A job that begins on
// p ranks has a cube of -size times the third root of p (rounded up) elements along each edge, so
// that -size is the edge of each rank's box on cubes of ranks, as in the paper. Another start
// on another number of ranks is told by -edge what that has come to.
//
// # The result
//
// With -json it prints one object. Beside what all examples have (package jobs), it has
//
//	edge            elements along an edge of the cube
//	time            that the explosion has taken so far
//	energy          of all elements and nodes; it stays what it was
//	energy_error    its relative change since the beginning
//	kinetic         share of the nodes in it
//	shock_radius    distance of the densest element from the origin
//	sedov_radius    that of the shock in the exact solution
//	digest          SHA-256 of time and all fields, node by node and element by element (gather.go)
package main
