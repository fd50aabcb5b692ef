// Levels measures what the storage levels cost on the machine that it runs on:
// writing a version at each level, restarting after nodes were lost, bringing the
// redundancy back, and versions of which little has changed.
//
//	go build -o levels ./examples/levels
//	./levels -np 4 -nodes 4 -path /dev/shm/l/pfs -node-path /dev/shm/l/nodes
//	./levels -np 8 -nodes 4 -size 32MiB -uneven 50% -path DIR -node-path DIR
//	./levels -np 4 -nodes 4 -async copy -levels local,partner -path DIR -node-path DIR
//
// The values are random, so that they cannot be compressed; every restart
// is checked against what was written.
//
// # What is measured
//
// Everything is measured in turn, once in each round, from a barrier until the
// slowest rank has ended. The table has medians, the 95 % interval of the median,
// and ratios within a round, with the 95 % interval of theirs.
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
package main
