// Lanczos finds the lowest eigenvalues of a large sparse symmetric matrix: the
// Hamiltonian of a sheet of graphene, made on the fly, or a matrix from a Matrix
// Market file. It checkpoints itself while it runs: kill it, start it again with
// the same parameters, and it goes on where it was, to the same digits.
//
//	go run ./examples/lanczos
//
// It runs in a zone (package aft). With -np, or under craft run, each rank is a
// process, and when some of them or a whole node are lost (-kill, -kill-node), the
// others go on from the newest checkpoint, with replacements or without. With
// -levels checkpoints stay on the nodes, with copies or parity on other nodes.
//
// The calls that make it so are all in solve.go. With -async checkpoints are
// written while it computes; zero-copy needs two vectors more in place of a copy
// of all data, because the process must not overwrite what is being written. What
// it computes is in the packages below: graphene and matrixmarket make the matrix,
// sparse multiplies it, krylov distributes it over ranks and runs the Lanczos
// recurrence, tridiag finds the eigenvalues. The exit code is 0 when it is done, 1
// when it failed, 2 when it was called wrongly, and when it was asked to end and has
// saved 130 after Ctrl-C, 75 after SIGTERM or at a deadline (checkpoint.OnSignal).
//
// With -json it prints one object. Beside what its names say (result.go), it has
//
//	overheads         seconds, the largest of any rank: cp waited for checkpoints,
//	                  res reading one, rec repairing the communicator, redo
//	                  doing again what had been done before
//	recoveries        repairs in this run
//	restarted_from    first iteration after a restart of the job (not after a
//	                  recovery within it), or -1
//	async             the mode: off, copy or zero-copy
//	levels            which versions are kept where, if not all in the directory
//	writer_cpu        processor time of the background writers in seconds
//	overhead_percent  100 * (cp + writer_cpu/cores) / seconds
package main
