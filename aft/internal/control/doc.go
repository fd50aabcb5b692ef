// Package control decides about the life and death of a job's processes: the
// protocol of the control plane, and its two ends as pure state machines.
//
//	root -------- daemon of node 0 ---- ranks 0, 1      Made, Peers, Failed, Revoke: down
//	  \---------- daemon of node 1 ---- ranks 2, 3      Hello, Join, Bye, Exit: up
//	   \--------- daemon of a spare node
//
// It is the tree of Reinit++ (Georgakoudis, Guo, Laguna, ISC 2020, section 3), with the collective
// operations of ULFM decided in the root. Nothing here has sockets, processes, goroutines or
// clocks: events go in one at a time, with when they happened, and actions come out.
//
// # The parts of the root
//
// Root hands each event to the part that it is for, and then has all that follows decided. Each
// part knows those below it, and none above: recovery, rendezvous, deployment (and its ledger),
// demands, membership, stopRequests, outbox. So a loss calls nobody: when an event has been noted, recovery
// looks at all operations under way (settle), which ask membership who is there, and deployment to
// start who is missing. What has ended is kept for as long as a communicator or the job's exit
// code needs it.
//
// # Terms
//
// A process (Proc) is one start of the program; its number is never used again.
// The original rank says what it stands for: a replacement has the original rank
// of the process whose place it takes. A process is starting until it has said
// Hello, then alive, at last failed or left. A communicator (CommID) is a list of
// processes; the world is the one that all ranks of the job are in: number 1, and
// after a repair the one that the repair has made.
//
// # Messages
//
//	length, 4 bytes | version, kind, to | fields, each behind its number | newline
//	                |                   | one copy for all (Body)        |
//
// They are validated by who sends them and by who gets them (validate.go). What types are made of is described once for
// both directions (coder.go, describe.go); a change of it is another Version.
//
// # Invariants
//
//   - Nobody is called failed who may still run: the exit of a process was seen,
//     or its node's lease has run out, or (on this machine) its daemon was reaped.
//     Whoever is suspected is fenced first.
//   - Each decision is taken once, in the root, and is the same for all. What the
//     root sends to a process arrives in the order in which it was sent; a failure
//     is told before every decision that rests on it.
//   - A collective operation waits for processes that are alive and have not gone
//     on to the end of the zone, for nobody else: each death is a reason to look
//     again. So none blocks because of a failure.
//   - A communicator that is made has no process that was known to have failed.
//
// # Cost
//
// A message of a job of 10,000 nodes is handled as one of ten: nothing that follows from a single message looks at all
// processes or nodes. Counts are kept where they change (census, node.load), searches go on where they have
// stopped (operation.firstAwaited), and who has failed is looked up when somebody has ended. Only a decision looks
// at all members, once; what it sends has one Body for all who get it. See docs/recovery-scale.md.
//
// What a node is told of a failure has as many bytes for any number of ranks. A communicator that an operation makes is
// told as its Difference from the one that the operation was of, which everybody has who has joined: also who comes
// late, or has given that back meanwhile. Nobody else is told of it so: processes that are new, whichever repair they were
// started for, get all members (rendezvous.welcome), and so do all where that is not longer, as after most splits. Whoever
// cannot make the members of what it is told ends, as at any message that is none. A message for all processes of
// a node has no Message.To.
//
// # Demands
//
// To store a version, or to end, is asked of the job by a message (package demand): the launcher calls Root.Ask, ranks and
// daemons send an Ask. The root's decider answers with a Hold to all that have a communicator, whose runtimes say how many
// calls have passed; a daemon gathers what those of its node say into one Passed, as it does with Joins, and waits for nobody who
// has ended. When all nodes have answered, a Meet names the call. A generation begins behind each Made of a first world, a
// repair, a spawn and the end of a zone: there the root begins anew, and each process when it takes that Made, so that
// both count in the same one. Newcomers are told of plans and of the end. A version that was asked for is asked for again in
// each generation, and deployment, until a rank says that it is stored: a failure, or a repair under way, takes no demand with it.
//
// A signal for the launcher, or for a daemon, is a demand if all processes that have joined there take it (Hello.Takes).
// Where none has joined yet, what the last ones have said counts, those of another deployment included. All other signals are forwarded.
//
// # Leases
//
// Pulses go up, from ranks to their daemon and from daemons to the root, and each is answered at
// once. The lease that an answer gives counts from when the pulse was sent, on the clock of the one
// who sent it; the root declares a node dead when it has received no pulse for the lease and a
// margin. So a daemon has always killed its ranks before its node is declared dead, however long
// messages were on their way: the lease ends first, without any common clock. Ranks whose daemon
// hangs end themselves: what it has answered ends with its own lease, and before the first answer a rank has a
// lease from its start, for which a margin of a period leaves room.
//
// A spare rank has no lease until it takes a place. Then it has one, which counts from no pulse of
// its daemon and may end after the node was declared dead: it permits nothing before the first answer.
//
// Clocks stand still while a host sleeps. On the root's host that is right: the root sleeps too.
// On another one (Setup.Remote) it may have called a node dead meanwhile, so there sleep counts for
// what a lease permits (Daemon.Slept, and the ranks alike): nothing until the root has answered a
// question of after the sleep, which it does unless it has given up the node. It does not count
// for when processes end themselves: a job whose hosts have all slept goes on.
//
// # Suspicion
//
// A broken connection between two processes is mostly the sign of an exit whose news is on its
// way. So the root waits for one period, and only then kills the process that was suspected; its
// exit is reported as usual. A silent process is killed by its daemon, once it has said Hello; one
// that was stopped also before and after that. One that hangs before Hello cannot be told from a
// slow one, or from a program that does not join: as a replacement it is killed after Timing.Repair.
//
// # Roll-back
//
// With a policy that is AtDetection, which ranks have named when they began with the zone, the
// root begins with the repair itself (Reinit++, algorithm 1): it revokes the world and starts the
// replacements when it knows of the failure. Survivors come to the repair as usual, and it goes on
// with what was started. Whoever was asked to end may be about to: then the survivors have to ask.
// With Policy.Synchronous nothing is revoked: the program asks at points of its own.
//
// A rank whose body is in the way of a roll-back ends itself (Suspect.Evicted). It has not failed: it
// is replaced on its node, in the same repair.
//
// # How processes end
//
// A process that has said Bye has left. So it seems has one whose last zone has ended
// and which exits with code 0 (any code if the zone ended with an error); one that exits
// within StopPatience after somebody was told of a signal that asks for the end, with any
// code, unless it panics; and one that is killed by a signal that the root has forwarded,
// with code 128 and the number. These are presumed to have left: if others are in a zone, or
// want to repair, when the patience after a signal is over (without one: at once), they have
// failed after all, and everybody is told. With NON-SHRINKING they are replaced then, so
// that ranks that end one after the other are not started again. A zone does not end well
// without them. All other ends are failures once the first world is there.
//
// When a demand has asked for the end, it is the same with any exit code, whoever has got which signal, until the deadline; and
// from when the call is known at which all meet, whoever exits has left for good: no zone waits for it, and nothing is repaired
// any more. Who is killed is replaced if the time that is left suffices (see recovery.tooLate); otherwise those who ask for the
// repair are told why there is none.
//
// A replacement gets no forwarded signal before it is in a communicator, as others wait for
// it; then, when its body has begun, it gets what was forwarded meanwhile, and what has asked for
// the end not long ago, or in the last StopHolds if somebody has done so: the others may have
// saved, and wait for nobody else.
// If one that was told to end fails, the next one waits for a sixth of the patience, and the
// ledger does not count it, while there are others: they may be saving what they have, and may
// need a communicator for it.
//
// A process may be a script which has started the program that has joined, and goes on when that
// has ended. For the others the end of the program counts, though they are told when the script has
// ended too, for the job's exit code that of the script: between zones, or when it was asked to end,
// the program has left, and the script may take its time. In a zone the others wait for the
// program: then the script is killed, and the process has failed.
//
// The job ends when nobody is there any more; its exit code is that of the last
// processes of each original rank (demand.JobCode: the largest, but codes that say what a
// demand has come to count less than all others), where failures count that no repair, shrink,
// acknowledged agreement or zone that ran through them has dealt with. Those who were taken away (killed, silent,
// with their node) when the end was asked for count as what it was asked for: nothing else has happened to the job. When all processes
// are lost while no zone is under way, they are started again, because another zone may
// follow; if they exit without one, or are killed again, it was the end, and the failures
// count beside their own ends, by the same rule. Lost nodes are no sign of the end.
//
// # The ledger
//
// A job whose replacements fail again and again must end. Each process that is
// replaced is entered; progress, which is the end of a zone or a larger step than
// any process has reported in it, wipes the ledger. Deaths of the program's own
// (signals, exits, panics, memory) count over all ranks and causes: when one rank has
// failed for the same reason RootConfig.Repeats times (3), or 3*Repeats+1 rounds of any
// ranks for any reasons have come together (10), the job ends with a report. A round
// are deaths of different ranks before the next repair is complete: what kills many at
// once counts once.
//
// Lost nodes and fenced processes are no fault of the program. They have a count of
// their own (20 rounds), and replacements wait: not after the first one, then 1 s, and
// twice as long each time, up to a minute. So have those whose bodies do not end in a roll-back (20
// rounds), without waiting: a program may revoke its communicator each time.
//
// Programs that report no steps get three times as many attempts of each kind; not so
// before the first world. One rank that ends Repeats times because the job was asked to, as it
// seems, while others wait for it, ends the job whatever its progress.
//
// # Abort and restart
//
// With a policy that Aborts the root ends the job at the first failure. While the job was asked to end
// it waits for those who may be about to, unless somebody asks for a repair; and for a second where
// those who have failed have ended as they might have been asked to.
//
// A job that has ended by a failure may be deployed again, by a new Root that begins with what
// Sequel of the old one has made: the Past. The ledger goes on, and so does the epoch: the first
// world is that of a repair in which all ranks were replaced. Nodes that were lost keep their
// numbers and take no part; spare ones take their places, and those that cannot be started are left out. Failures
// without progress count by deployments, whoever has failed: RootConfig.Repeats in a row are the
// end. It is not deployed again once it was asked to end, nor if its processes have ended as they wanted to, with one of the
// codes that say so (75, 76, 130, RootConfig.RequeueCode).
package control
