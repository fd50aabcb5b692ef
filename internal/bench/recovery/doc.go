// Package recovery measures what failures cost on the machine that it runs on: messages,
// the operations of the survivors, and the phases of a repair. It makes failures
// itself, by SIGKILL to one of its ranks.
//
//	export CGO_ENABLED=0 # as programs are built
//	go test ./internal/bench/recovery -run ^$ -bench Recovery -benchtime 1x -np 8 -nodes 4
//	go test ./internal/bench/recovery -run ^$ -bench Restored -benchtime 1x -np 8 -nodes 8
//	go test ./internal/bench/recovery -run ^$ -bench Messages -benchtime 1x
//	go test ./internal/bench/recovery -run ^$ -bench Zone -benchtime 1x -rounds 21 # a zone without failures
//	go test ./internal/bench/recovery -run ^$ -bench 'EmptyJob|PlainStart' -np 8 -nodes 4
//	go test ./internal/bench/recovery -run ^$ -bench Rivals -benchtime 1x -rounds 10 # ways to go on after a failure, in turn
//
// The test binary (go test -c) has the same flags. It is also the program that a job of
// processes runs; on a cluster, under craft run, with TEST_AS_PROGRAM=1 and -np 0, its rank 0 prints
// JSON.
//
// Times are those of rank 0, medians over -rounds with the ends of their 95 % interval
// (low-us, high-us): of a failure from just before the signal is sent until rank 0
// has passed a barrier of the new communicator, which all others have entered by
// then.
//
// With -what restored each rank has -mib of values at level mem. In turn a failure is measured until
// all ranks have theirs again, and until the world is repaired, with no checkpoint open; then what the
// replacement must be sent, by a plain send over a connection that exists, into memory that was touched.
// The figure "beyond" is the difference, pair by pair.
package recovery
