// Package levels measures what the storage levels cost on the machine that it runs on:
// writing a version at each level, restarting after nodes were lost, bringing the
// redundancy back, and versions of which little has changed.
//
//	go test ./internal/bench/levels -run ^$ -bench . -benchtime 1x -path /dev/shm/l/pfs -node-path /dev/shm/l/nodes
//	go test ... -np 8 -size 32MiB -uneven 50% -path DIR -node-path DIR
//	go test ... -async copy -levels local,partner -path DIR -node-path DIR
//
// The test binary (go test -c) has the same flags. It is also the program that a job of
// processes runs; on a cluster, under craft run, with TEST_AS_PROGRAM=1 and -np 0, its rank 0 prints
// JSON.
//
// The values are random, so that they cannot be compressed; every restart
// is checked against what was written.
//
// # What is measured
//
// Everything is measured in turn, once in each round, from a barrier until the
// slowest rank has ended. Of each thing there is the median in ms, the ends of its 95 %
// interval (low-ms, high-ms), and the median of ratios within a round: %local to the level local,
// %plain to the plain write of as many bytes.
//
//   - "plain": each rank writes the bytes that the level keeps (for partner twice
//     its values, for parity m of k more) in pieces of 4 MiB to a new file in its
//     node's directory, calls fsync and closes it.
//   - a level: UpdateAndWrite (and Wait, if it is asynchronous; then "program
//     waits" is UpdateAndWrite alone). The first versions, which make the files
//     that later ones are written over, are not counted.
//   - "delta n %": the same at level local, of values in which one chunk in
//     100/n has changed.
//   - "restart after loss": New, RestartIfNeeded, with the directory of one node
//     deleted (rs: of two), another one in each round.
//   - "rebuild": the part of that in which the files of the lost node are made
//     anew. "copy" is what reading and writing files of the same sizes takes.
//   - "healed": from the return of RestartIfNeeded until the redundancy is back on
//     all ranks. The program can compute meanwhile.
//
// The directories are made, and what the program has written is deleted at the
// end. They need room for about three versions at each level.
package levels
