// Package domain is the part of a molecular dynamics that one rank has: the atoms in its rows
// of cells (package cells), what they are told by the neighbours, and their motion.
//
// # A step
//
//	kick     v += dt/2 F/m
//	drift    r += dt v
//	Arrange  atoms that have left the rows go to who has theirs; all are put in order
//	Forces   positions of the atoms in border rows go to the neighbours; F of the own atoms
//	kick     v += dt/2 F/m                         (velocity Verlet)
//
// # Invariants
//
//   - Between steps the atoms of all ranks, one rank after the other, are in the order
//     of their cells, and in a cell in the order of their numbers. Where the part of this
//     rank begins and ends changes when atoms come and go: First.
//   - Forces follow from positions and cells, which follow from positions. So atoms are
//     numbers, positions and velocities, and a restart needs nothing else.
//   - Whoever computes it, the force on an atom is added up in one order: that of the
//     cells around (cells.Grid.Around), and in them that of the atoms.
//   - An energy is added up over the atoms of a cell, the cells of a row, and the rows
//     of all ranks, each in one order. A row is on one rank, so that no sum is that of a
//     rank: the bits are the same on any number of them.
//
// Methods that take a context are collective.
package domain
