// Lanczos finds the lowest eigenvalues of a large sparse symmetric matrix: the
// Hamiltonian of a sheet of graphene, made on the fly, or a matrix from a Matrix
// Market file. It checkpoints itself while it runs: kill it, start it again with
// the same parameters, and it goes on where it was, to the same digits.
//
//	go run ./examples/lanczos
//
// The calls that make it so are all in solve.go. What it computes is in the
// packages below: graphene and matrixmarket make the matrix, sparse multiplies
// it, krylov distributes it over ranks and runs the Lanczos recurrence, tridiag
// finds the eigenvalues. The exit code is 0 when it is done, 1 when it failed, 2
// when it was called wrongly, and 128+n when signal n (SIGINT, SIGTERM) ended
// it.
package main
