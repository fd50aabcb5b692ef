// Package matrixmarket reads symmetric matrices in the Matrix Market exchange
// format (https://math.nist.gov/MatrixMarket/formats.html), plain or compressed
// with gzip.
//
// It reads the coordinate format with real, integer or pattern entries (those
// of a pattern count as 1) under a general or a symmetric header. What an
// eigensolver for symmetric matrices cannot use is an error that says so:
// arrays, complex entries, Hermitian and skew-symmetric headers, matrices that
// are not square, and matrices with a general header that are not symmetric.
//
// # Rules
//
//   - Entries that are given more than once are added up, as programs that
//     assemble matrices element by element expect.
//   - A file with a symmetric header stores one triangle, lower or upper, and
//     not a mixture.
//   - Under a general header, a(i,j) and a(j,i) may differ by rounding:
//     [Tolerance] of the largest entry.
//   - The sizes that a file claims are not believed: memory is used for
//     entries as they are read.
package matrixmarket
