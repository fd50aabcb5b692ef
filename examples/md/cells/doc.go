// Package cells divides a periodic box into link cells, and these among ranks.
//
//   - A cell is at least as long as the cut-off in each direction, so that an atom acts
//     on those of its own cell and of the 26 around it alone.
//
//   - A row is the cells of one x and one y, along z. Rows are numbered, x slowest:
//     they are the global index space that is divided. A rank has rows lo <= row < hi,
//     a slab of the box that need not end where a plane of cells does, so that there can
//     be as many ranks as there are rows. (More do no harm, and have no rows.)
//
//   - The halo of a rank are the rows around its own that others have.
//
// The cells, their numbers and what is around them are those of the box, whatever the number
// of ranks: this is what makes sums over cells the same on any number of them.
package cells
