package comm

import "github.com/craft-go/craft/aft/comm/driver"

// Place is where a process stands in the job.
type Place struct {
	Comm     *Comm
	Original OriginalRank
	Node     int
	Epoch    int // number of repairs before; that the job was deployed again counts as one
	Joined   int // Epoch when this process came to the job
	Zone     int // number of zones that have ended before
	// ZoneErrors are those of them that ended with an error before this process was started.
	ZoneErrors []ZoneError
	// Replacement: the process was started in the place of one that failed, and
	// has not run a body yet. So are all when the job was deployed again.
	Replacement bool
	// Change is the repair that Comm comes from; nil: before the first one of a zone, and in a process
	// that was started by Spawn.
	Change *Change
}

// What a zone and an engine tell each other, without ranks in it.
type (
	// ZoneError is how zones have ended in which a body had an error.
	ZoneError = driver.ZoneError
	// Recovery is what a repair does about processes that have failed.
	Recovery = driver.Recovery
	// SpawnPolicy is where replacements may run.
	SpawnPolicy = driver.SpawnPolicy
	// Policy is how a zone recovers.
	Policy = driver.Policy
	// Verdict is how one process's body has ended.
	Verdict = driver.Verdict
	// RepairPhases are the times of the phases of a repair.
	RepairPhases = driver.RepairPhases
)

// The recovery policies: fewer ranks, renumbered; or as many as before, each
// replacement with the rank of the process whose place it takes.
const (
	Shrinking     = driver.Shrinking
	NonShrinking  = driver.NonShrinking
	GlobalRestart = driver.GlobalRestart
	// Abort ends the job at the first failure, as MPI's default error handler does.
	Abort = driver.Abort
)

// Recoveries are the names of all recovery policies.
func Recoveries() []Recovery { return driver.RecoveryNames() }

// SpawnPolicies are all of them.
func SpawnPolicies() []SpawnPolicy { return driver.SpawnPolicies() }

// The spawn policies: on the node where the process failed, or on spare nodes.
const (
	Reuse   = driver.Reuse
	NoReuse = driver.NoReuse
)

// Outcome is what the processes have agreed on at the end of a body.
type Outcome struct {
	// Repair: a process has failed; all go on with Repair.
	Repair bool
	// Err and ErrRank are the error of the lowest rank that had one, when no
	// process has failed; "": all have finished.
	Err     string
	ErrRank Rank
}

// Change is what a repair has done.
type Change struct {
	Epoch int // number of repairs, this one included
	// Failed are the processes that were lost since the last repair, in the
	// order of their original ranks.
	Failed []Loss
	// Replaced are the original ranks that a new process has taken over.
	Replaced []OriginalRank
	// Ranks gives for each rank of the old communicator that of the same
	// original rank in the new one, or -1.
	Ranks  []Rank
	Phases RepairPhases
}

// Loss is a process that has failed.
type Loss struct {
	Original OriginalRank
	Rank     Rank // in the old communicator
	Node     int
	Reason   string // such as "signal: killed"
	// Evicted: it has not failed, but its body did not end in a roll-back. What it had in memory at the
	// levels mem and process its replacement has, if that is on the same node.
	Evicted bool
}

func changeOf(d driver.Change) *Change {
	c := &Change{Epoch: d.Epoch, Ranks: ranks(d.Ranks), Phases: d.Phases}
	for _, l := range d.Failed {
		c.Failed = append(c.Failed, Loss{OriginalRank(l.Original), Rank(l.Rank), l.Node, l.Reason, l.Evicted})
	}
	for _, o := range d.Replaced {
		c.Replaced = append(c.Replaced, OriginalRank(o))
	}
	return c
}
