// Package sparse multiplies a sparse matrix with a vector on all cores of one
// machine.
//
// # Terms
//
//   - [CSR]: compressed sparse rows. Row i owns the entries from RowPtr[i] to
//     RowPtr[i+1] of Cols and Vals. Indices are 32 bits wide: the product is
//     bound by memory bandwidth, and narrow indices are bytes that need not
//     move.
//   - [Team]: as many goroutines as there are cores, which share the work.
//   - block: [BlockRows] consecutive rows. Blocks are what the members of a team
//     take, one after the other, from a shared counter.
//
// # Invariant
//
// Which goroutine computes a block depends on the machine; what it computes
// does not. A row is always summed by the same instructions in the same order,
// and sums over rows are first formed within a block and then added up in the
// order of the blocks ([Team.Sum]). So results are the same, bit for bit, on
// any number of cores.
package sparse
