// Package guard is the parent of a daemon. The system gives it every process that the ranks
// have started when the parents of that process have ended, whatever group or session
// it has made for itself. So it finds all that is left when the daemon has ended, and
// no number that it kills can belong to anybody else: it is freed by the guard alone.
//
// It runs no code of users, whose waiting for children it would disturb. A guard is the program all the same, and so
// its life is in an init function of this package: that is called before those of most other packages, because this one
// imports little, and processes of a job that has not begun yet need not wait for them. What it would need of
// larger packages (fmt, log/slog, os/exec, golang.org/x/sys/unix) it does without; a test looks at that.
package guard

import (
	"os"
	"syscall"
)

// ForRanks are signals that are passed on to the ranks. Guards and daemons do nothing because of
// them: a batch system sends them to all processes of a job, so that programs can save
// what they have, and the nodes are to be there as long as the ranks are.
var ForRanks = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// Gone is what a guard says on its standard output, which is that of its daemon, when that has not ended well and nothing
// of it is left: a message of package control, which imports much. So the root knows it where an agent goes on, and
// need not wait for the lease. Behind a message that is cut off it is understood by nobody.
const Gone = "\x00\x00\x00\x04\x10\x0f\x00\n" // version 16, kind 15, to nobody

// FenceSignal tells a guard to end its node at once. Nobody else sends it: what Slurm
// sends to all processes of a step (--signal=USR1@60) is for the ranks.
const FenceSignal = syscall.SIGVTALRM
