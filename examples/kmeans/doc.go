// Kmeans divides points into clusters, on ranks of which some may die. It shows data that
// survives in memory (package storage/replica), without versions on disk and without spare
// processes: the example of the ReStore paper (Hübner, Hespe, Sanders, Stamatakis, FTXS
// 2022, section VI-C).
//
//	go run ./examples/kmeans
//	go run ./examples/kmeans -np 4 -kill 2@50 -recovery SHRINKING
//
// What a rank needs to go on after a failure are the points, which are large and do not
// change, and the centres, which are small and the same on all ranks. Each attempt of the
// zone (solve.go) begins with three steps:
//
//   - state.go: all ranks take over the centres of one that is farthest. Who has survived
//     has them in its own memory.
//   - points.go says which blocks of points each rank takes that nobody has: in the first
//     attempt an even share; after a failure the survivors share what was lost, or
//     replacements get it.
//   - restore.go: the store is opened, which has outlived the failure, and gives those
//     blocks. In the first attempt the points are made or read, and submitted. After a
//     failure Repair makes up for the copies that were lost, so that others may fail. Blocks
//     all copies of which are lost are made or read again: input.go sees to it that these are
//     the same ones.
//
// What is in memory does not survive the end of the job. If that is asked to end (saved.go), it stores
// the centres, in a checkpoint that is written for nothing else, and the next start makes or reads the
// points again: they are the same ones.
//
// The clustering is the same, bit for bit, as without failures and on any number of ranks:
// package lloyd adds up blocks of points, whoever has them, exactly. Package dataset has
// the points.
//
// With -json it prints one object. Beside what its names say (result.go), it has
//
//	recoveries        repairs in this run
//	points_restored   that were lost with ranks and came from the memory of others
//	points_anew       that were lost with all copies, and were made or read again
//	rec               seconds in which the communicator was repaired
//	restore           seconds in functions of the store: open, submit, load, repair
//	restore_percent   100 * their sum / seconds
//	digest            SHA-256 of centres, sizes and inertia (result.go)
//
// Times are those of the rank for which they are longest, among those that are left.
package main
