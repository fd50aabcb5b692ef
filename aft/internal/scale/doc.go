// Package scale simulates the control plane of large jobs: what the start of a job and the
// recovery from a failure cost the root, on up to 10,000 nodes.
//
//	root (one processor, one link)
//	  |-- link --> daemon of node 0 (one processor, one link) -- ranks 0 .. r-1
//	  |-- link --> daemon of node 1                           -- ranks r .. 2r-1
//
// Root and daemons are the machines of package control, as a job runs them; every message is
// encoded, and its bytes are counted. Time is simulated: a Model says what messages, bytes and
// starts of processes take. Ranks are small models of bulk-synchronous programs in a zone: the two
// neighbours of a process that has failed notice it, all others hear of the revocation.
//
// With a fan-out the same machines stand in a tree of daemons, which there is only here: a node
// passes on what is for the nodes below it, and gathers what they have to say; see relay.go.
//
// TestDocumented checks the rows of small jobs in docs/recovery-scale.md. All of its tables, with what the
// root's machine has taken of the processor, and the constants of the model, measured:
//
//	go test ./aft/internal/scale -run Tables -v -timeout 60m -tables -nodes 10,100,1000,10000 -ranks 1 -fan-out 0,16,32
//	go test ./aft/internal/scale -run ^$ -bench Costs
package scale
