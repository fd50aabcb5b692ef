package aft

import (
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// Stats tells of the recoveries that this process knows of.
type Stats struct {
	// Recoveries is the number of repairs of the job so far, those before this
	// process was started included.
	Recoveries int
	// Recovery is how long this process has waited for them: from when a body
	// ended because of a failure (or Repair was called) to the new communicator
	// (OH_rec, paper section 5).
	Recovery time.Duration
	// Failures are the lost processes in the order of the repairs.
	Failures []comm.Loss
	Phases   Phases
}

// Phases divides Recovery.
type Phases struct {
	CleanUp time.Duration // Cleanup functions, and the draining of checkpoints
	Agree   time.Duration // until all survivors had agreed to recover
	Repair  time.Duration // until the new communicator was there
	// Engine is what Repair consists of, as the one who decides has measured it.
	Engine comm.RepairPhases
}

func (s *Stats) add(c comm.Change, p Phases) {
	s.Recovery += p.CleanUp + p.Agree + p.Repair
	s.Failures = append(s.Failures, c.Failed...)
	s.Phases.CleanUp += p.CleanUp
	s.Phases.Agree += p.Agree
	s.Phases.Repair += p.Repair
	s.Phases.Engine.Gather += c.Phases.Gather
	s.Phases.Engine.Spawn += c.Phases.Spawn
	s.Phases.Engine.Connect += c.Phases.Connect
}
