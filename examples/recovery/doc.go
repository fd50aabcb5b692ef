// Recovery measures what failures cost on the machine that it runs on: messages,
// the operations of the survivors, and the phases of a repair. It makes failures
// itself, by SIGKILL to one of its ranks.
//
//	go build -o recovery ./examples/recovery
//	./recovery -np 8 -nodes 4                 # operations and repairs
//	./recovery -np 2 -what messages           # latency and bandwidth
//	./recovery -np 2 -what zone -rounds 21    # a zone without failures
//	./recovery -np 8 -what nothing            # an empty job, for time(1)
//	craft run --hosts a,b -n 64 -- ./recovery # on a cluster
//
// Times are those of rank 0, medians over -rounds with the smallest and the
// largest: of a failure from just before the signal is sent until rank 0
// has passed a barrier of the new communicator, which all others have entered by
// then.
package main
