// Package launch runs a job: it starts the ranks of a program as processes,
// watches them, and takes care that nothing is left behind. A program that is its own
// launcher:
//
//	func main() {
//		if code, ok := launch.Daemon(); ok {
//			os.Exit(code)
//		}
//		np := flag.Int("np", 0, "number of processes")
//		flag.Parse()
//		if code, started, err := launch.Self(ctx, *np); started {
//			... // report err
//			os.Exit(code)
//		}
//		err := aft.Run(ctx, body) // in each of the processes
//		...
//	}
//
// # Roles
//
// A process of a job has one of four roles, told by the variable CRAFT_ROLE:
//
//	root (no role)      one; Run. Decides everything (package control, Root)
//	guard               one per node; Daemon. Starts the daemon, and kills what is left
//	                    of the node when that has ended (on Linux)
//	daemon              one per node; Daemon. Starts and watches the ranks there
//	rank                the program
//
//	       root ── stdin, stdout ──> (guard) daemon ── descriptors 3, 4 ─> rank
//	                  or: ssh host               └──── stdout, stderr ───> rank
//
// A daemon is the executable of the root, started again: as a child on this
// machine (a virtual node), or on another host by an agent such as ssh. It needs
// no network of its own: its control connection is its standard input and
// output. Nothing listens at the root, and the job's secret is on no command
// line and in no environment.
//
// # Terms
//
// A node is what fails as a whole: a daemon with its guard and its ranks. A host is a machine;
// virtual nodes share one. A spare node has a daemon and no ranks, until one is
// needed. An agent is a command that runs another one on a host.
//
// # Invariants
//
// Ranks die with their daemon: each is killed by the system when the daemon's
// process ends, however that happens. A daemon ends when its standard input
// ends, so that daemons die with their root; before that it kills the process
// groups of its ranks. Whatever ranks have started dies with the guard's node, also
// what has left its group, its session and its parent; the root kills what is left
// of the session of a guard that was killed on its own machine.
//
// A message of the control plane never waits behind output: it overtakes the
// output that is queued, and output is bounded by credits (a daemon may have
// 256 KiB on the way), so that a rank that writes faster than its reader reads
// is held up, and nothing else is. The one exception is the end of a rank: its
// last lines are forwarded before its exit.
//
// Root and daemon are monitors around the state machines of package control: a
// message is handled by the goroutine that has read it, under a lock, and the
// answer is written there and then where the connection takes it. Nothing under
// the lock waits for another process.
//
// A job that is deployed again (Config.Restarts) has a root after the other. When one begins nothing
// of the one before runs: the ends of all of its daemons were seen, or their leases have run out.
//
// The deployment is that of Reinit++ (Georgakoudis et al., section 3: a root, a
// daemon per node, ranks).
package launch
