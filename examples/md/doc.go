// Md computes how atoms move: molecular dynamics of a crystal of copper with the
// Lennard-Jones potential, as CoMD (ExMatEx), one of the programs of the Reinit++ paper
// (Georgakoudis, Guo, Laguna, ISC 2020). It shows how a particle code survives failures: its
// data is divided among the ranks in another way after each step.
//
//	go run ./examples/md
//	go run ./examples/md -np 4 -kill 2@50 -recovery SHRINKING
//
// All that makes it so is in simulate.go, which is the body of a zone (package aft). Each
// attempt of it begins anew, on the ranks that there are, and has the newest checkpoint read,
// or makes the crystal if there is none. It does not ask whether ranks were lost,
// replaced or left out, or whether the job was started again.
//
// # Who has what
//
//	link cells in rows along z, which are numbered; ranks have ranges of rows
//
//	rows            0 1 2 3 | 4 5 6 | 7 8 9 | ...     packages cells, domain
//	rank               0        1       2
//	atoms, in order   [0,97)  [97,161) [161,240)      in this step
//	                  [0,96)  [96,163) [163,240)      in the next one
//
// A row belongs to one rank, and a rank to no particular rows: more ranks than there are rows
// do no harm, and have nothing to do.
//
// # What a checkpoint keeps
//
// Numbers, positions and velocities of all atoms, rank after rank: arrays with a row for each
// atom, of which a rank has the part [first, last) that it happens to have. Forces follow from
// positions. Such an array is a cptypes.PartitionedMatrix but for its boundaries, which move;
// column.go, a type of the program's own with the optional abilities of package cptypes, says at
// each write where they are.
//
// For a restart it is all the same which atoms a rank reads: an even share of them, on any
// number of ranks. Domain.Arrange then brings each atom to the rank that has its cell, as it does
// after each step. So there is no code for another number of ranks.
//
// The other way would be an array over the cells, with room in each for as many atoms as there
// may ever be (CoMD has 64, and 20 are in it), which cptypes.PartitionedMatrix describes as
// it is: three times the bytes in every checkpoint, and an end of the program when a cell is full.
//
// # The same bits on any number of ranks
//
//   - The velocities at the beginning are made from the number of the atom.
//   - The force on an atom is added up in one order: cells around, atoms by number.
//   - Energies are added up in a cell, in a row, and over the rows in their order.
//
// So a run that has shrunk ends as one without failures, and a test can look for equality.
//
// # What is the same as in CoMD, and what is not
//
// The numbers are CoMD's: copper (package copper), cut-off 2.5 sigma, shifted potential, 600 K,
// steps of 1 fs, 20 x 20 x 20 unit cells unless told otherwise. Forces are computed for each atom
// of a pair (package lj says why). The box is divided in slabs rather than in three
// dimensions, and the context is looked at after each row, so that a roll-back waits for no
// one.
//
// The energy goes up and down by some 1e-5 of itself at 600 K and 1 fs, a quarter of that with
// half the step, and does not run away.
//
// With -json it prints one object. Beside what all programs print (package
// examples/internal/jobs), it has
//
//	atoms, cells                 how many; link cells in each direction
//	energies                     eV, of all atoms, at the beginning and every 10 steps
//	potential kinetic            eV, at the end
//	temperature                  K, at the end
//	drift                        largest difference of an energy from the first one, as a
//	                             share of that
//	digest                       SHA-256 of numbers, positions and velocities of all atoms, and of
//	                             the energies: the same on any number of ranks
package main
