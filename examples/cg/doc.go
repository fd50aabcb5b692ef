// Cg solves a linear system by the method of conjugate gradients: HPCCG (Mantevo), one of
// the programs of the Reinit paper (Georgakoudis, Guo, Laguna, ISC 2020). It shows how an
// iterative solver survives the failure of ranks and nodes.
//
//	go run ./examples/cg -np 4
//	go run ./examples/cg -np 4 -kill 2@70 -recovery SHRINKING
//
// All that makes it so is in solve.go, which is the body of a zone (package aft). Each
// attempt of it begins anew, on the ranks that there are: it makes what can be made again,
// adds what cannot to a checkpoint, and has that read. It does not ask whether this is the
// first attempt, whether ranks were lost, replaced or left out, or whether the job was
// started again, and so is the same under any policy of recovery.
//
// What takes care of that:
//
//   - The vectors are declared as planes of one grid (cptypes.PartitionedMatrix), so that any
//     number of ranks can read them, and rho as the same on all.
//   - The grid is the job's, and not the number of ranks times something (problem.go). It is the
//     fingerprint of the checkpoint.
//   - Sums are the same bits on any number of ranks (package stencil), so that shrinking
//     is not seen in the result.
//   - The context is looked at after each plane, so that a roll-back waits for no one.
//   - A version under way may be written straight from the vectors (-async zero-copy): an
//     iteration is in two parts (conjugate.go), and the first, longer one, changes none of
//     them.
//
// It differs from HPCCG in this: no element of the matrix is stored (package stencil says
// why), and -tol is relative to the right-hand side. The diagonal is 27, as there (in HPCG it
// is 26); the condition of the matrix is at most 37, whatever its size, and 100 iterations
// reach the limit of float64.
//
// With -json it prints one object. Beside what all programs print (package
// examples/internal/jobs), it has
//
//	nx ny planes   the grid, of all ranks together
//	residual       norm of the residual as the method has computed it, as a
//	               share of that of the right-hand side
//	true_residual  the same of b - A x
//	error          largest difference from the solution, which is 1 everywhere
//	digest         SHA-256 of x and the residual: the same on any number of ranks
package main
