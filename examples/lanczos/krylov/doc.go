// Package krylov runs the Lanczos process for a large sparse symmetric matrix
// whose rows are distributed over the ranks of a communicator.
//
// # Terms
//
//   - [Partition]: rank r owns a contiguous range of rows, and of the elements
//     of every vector.
//
//   - [Operator]: this rank's rows, split into a matrix for the columns that the
//     rank owns and one for those that it does not.
//
//   - halo: the elements of a vector that this rank needs and others own. They
//     travel while the product with the own columns is computed.
//
//   - [Lanczos]: the three-term recurrence. Step k, counted from 0, turns the
//     unit vectors v[k-1] and v[k] into
//
//     w        = A v[k] - beta[k-1] v[k-1]
//     alpha[k] = w . v[k]                        (first reduction)
//     w        = w - alpha[k] v[k]
//     beta[k]  = |w|                             (second reduction)
//     v[k+1]   = w / beta[k]
//
// # Invariants
//
//   - The state of the process is alpha, beta and the last two vectors; nothing
//     else needs to be saved. Alpha and beta are the same bits on all ranks.
//   - The same matrix, seed and number of ranks give the same bits, on any
//     number of cores. Another number of ranks adds up in another order.
//   - A step overwrites the older of the two vectors. [Lanczos.Hold] makes it
//     use other memory as long as somebody still reads them.
//   - There is no reorthogonalisation: see package tridiag about the copies of
//     eigenvalues that follow from it.
//
// The process is that of Shahzad et al., IEEE TPDS 30(3), 2019, section 5.1.
package krylov
