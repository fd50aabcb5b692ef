package driver

import (
	"context"
	"time"
)

// Session is one process's part in a job that survives failures: what the zone
// (package aft) needs of an engine. Its methods are called by one goroutine; Revoke also
// by another one, but not during Repair.
type Session interface {
	// Place is where this process stands now.
	Place() Place
	// Revoke revokes the communicator of the place and all that were made of it,
	// at all processes.
	Revoke()
	// End is collective: the body has returned, with the given verdict. All
	// processes that are alive get the same outcome.
	End(ctx context.Context, v Verdict) (Outcome, error)
	// Repair is collective over the processes that are alive: it replaces the
	// communicator of the place by one without failed processes.
	Repair(ctx context.Context, p Policy) (Change, error)
	// Close ends this process's part. Messages that were sent are flushed.
	Close(ctx context.Context) error
}

// Quitter is a session that can end its process at once. Its methods do not return, unless the
// ranks are not processes.
type Quitter interface {
	// Quit ends it as a failure would.
	Quit(why string)
	// Evict ends it because its body is in the way of a roll-back, and says where that is. The
	// process has not failed: it is replaced at its place, at once. Where ranks are not processes,
	// the job ends with an error instead, which why is in.
	Evict(why error, leaves []Bequest)
}

// Heir is a session that may have got what the process has left that it replaces.
type Heir interface {
	// Inherit returns what was left under a name; nil: nothing. taken says that it is this process's now.
	Inherit(name string) (memory []Memory, taken func())
}

// Bequest is memory that a process leaves to the one that replaces it on its node: see comm.Bequeather.
type Bequest struct {
	Name   string
	Memory []Memory
}

// Memory is where a process has memory that others of its host can map: see offheap.Address.
type Memory struct {
	PID   int64
	FD    int64
	Size  int64
	Token int64
}

// ZoneMarker is a session that wants to know when the body of a zone runs, because
// not everything can be called there.
type ZoneMarker interface {
	// InZone says with which policy the zone recovers; nil: its body runs no more.
	InZone(p *Policy)
}

// Stepper is a session that wants to know how far the program is, for the ledger of
// attempts. Any goroutine may call it.
type Stepper interface {
	Step(step int64)
}

// Place is where a process stands in the job: see comm.Place.
type Place struct {
	Comm        Comm
	Job         string // see comm.Session.JobName
	Daemon      string // see comm.Session.Daemon
	Original    int
	Node        int
	Epoch       int
	Zone        int
	ZoneErrors  []ZoneError
	Replacement bool
	// Change is the repair that a replacement was started for; nil: it was started by Spawn.
	Change *Change
}

// ZoneError is how zones have ended in which a body had an error.
type ZoneError struct {
	First int // number of the first zone, and of the last one that ended so
	Last  int
	Err   string
	Rank  int // lowest rank that had an error
}

// SpawnPolicy is where replacements may run.
type SpawnPolicy string

// The spawn policies: on the node where the process failed, or on spare nodes.
const (
	Reuse   SpawnPolicy = "REUSE"
	NoReuse SpawnPolicy = "NO-REUSE"
)

// SpawnPolicies are all of them.
func SpawnPolicies() []SpawnPolicy { return []SpawnPolicy{Reuse, NoReuse} }

// Policy is how a zone recovers.
type Policy struct {
	Recovery Recovery
	Spawn    SpawnPolicy
	// Synchronous: nothing is revoked at the detection, the program asks.
	Synchronous bool
}

// Verdict is how one process's body has ended.
type Verdict struct {
	// Err is the text of the body's own error; "" if there was none.
	Err string
	// Failure: the body ended because of a failed process or a revoked
	// communicator.
	Failure bool
	// Through: the body has run to its end through whatever has failed. When all
	// say so there is no repair.
	Through bool
}

// Outcome is what the processes have agreed on at the end of a body: see comm.Outcome.
type Outcome struct {
	Repair  bool
	Err     string
	ErrRank int
}

// Change is what a repair has done: see comm.Change.
type Change struct {
	Epoch    int
	Failed   []Loss
	Replaced []int
	Ranks    []int
	Phases   RepairPhases
}

// Loss is a process that has failed: see comm.Loss.
type Loss struct {
	Original int
	Rank     int
	Node     int
	Reason   string
	Evicted  bool
}

// RepairPhases are the times of the phases of a repair, as the one who decides
// about it has measured them (CRAFT paper, breakdown of the recovery).
type RepairPhases struct {
	Gather  time.Duration // until all survivors had come
	Spawn   time.Duration // until all replacements were started
	Connect time.Duration // until all replacements had reported
}
