// Package replica measures what keeping data in the memory of a job's ranks costs
// (storage/replica), beside plain sends of the same bytes between the same ranks and beside
// files, in turn.
//
//	go test ./internal/bench/replica -run ^$ -bench Replica -benchtime 1x -np 8 -path DIR
//	go test ./internal/bench/replica -run ^$ -bench Ranges -benchtime 1x -np 8 -ranges 4KiB,64KiB,1MiB
//
// The test binary (go test -c) has the same flags. It is also the program that a job of processes
// runs, for one number of copies, with or without permutation; on a cluster, under craft run, with
// TEST_AS_PROGRAM=1 and -np 0, its rank 0 prints JSON. Each rank is a virtual node.
//
// # What is measured
//
// Everything is measured from a barrier until the slowest rank has ended: the median in ms, the
// ends of its 95 % interval (low-ms, high-ms), and the median of ratios within a round to the
// rival (%rival). What is loaded is compared with what was submitted, when the clock has stopped.
//
//   - "first submit": the first thing that a job does, into new memory, over new connections; one
//     in each of -jobs.
//   - "submit": a further version. Its rival is what must happen to each copy of each byte: memcpy
//     for a copy on the rank itself, a send into a posted receive for one elsewhere, into memory
//     touched before, over connections that exist.
//   - "load all": each rank loads a share of all data, the one of a neighbour of which it holds
//     nothing. Its rival are sends of the same bytes, from a holder of each.
//   - "local load": each rank loads what it has submitted.
//   - "scattered load": after a rank was killed and replaced, the others load its data, in shares
//     of which they hold nothing.
//   - "files": each rank has written its data to a file below -path, synced and evicted from the
//     cache of the system; the same loads by reading these.
//   - "repair": Repair after the loss of a rank.
//
// Ranks that submit write to the memory of others of their host, or with -messages do not.
//
// The messages and bytes of a scattered load are counted, at the ranks that send and get most.
package replica
