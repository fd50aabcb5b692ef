package reinit

import (
	"context"
	"slices"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// State is how a process has come to the rollback point (Reinit++, section 3.1).
type State int

// The states.
const (
	New       State = iota // it is there for the first time, as all are
	Reinited               // it has survived a failure, and was rolled back
	Restarted              // it was started in the place of one that has failed
)

// String is the name of the state in the paper.
func (s State) String() string {
	switch s {
	case New:
		return "NEW"
	case Reinited:
		return "REINITED"
	case Restarted:
		return "RESTARTED"
	}
	return "unknown"
}

// Reinit runs body on all ranks, and again from its beginning when a process has failed: see
// aft.Run, whose options it takes. The recovery policy is GLOBAL-RESTART, whatever they or the environment say.
func Reinit(ctx context.Context, body func(ctx context.Context, z *aft.Zone, state State) error, opts ...aft.Option) error {
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		return body(ctx, z, StateOf(z))
	}, append(slices.Clone(opts), aft.WithRecovery(comm.GlobalRestart))...)
}

// StateOf is how the process has come to this attempt of a zone, whatever its policy.
func StateOf(z *aft.Zone) State {
	_, repaired := z.Change()
	switch {
	case z.Replacement():
		return Restarted
	case repaired:
		return Reinited
	}
	return New
}
