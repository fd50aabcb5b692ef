package driver

import "slices"

// Recovery names what a repair does about processes that have failed.
type Recovery string

// RecoveryPolicy is one of them. It is pure: whoever decides about a repair asks it, and
// it knows nothing but what it is told.
type RecoveryPolicy struct {
	Name Recovery
	// Replaced are those of the lost processes that a new one replaces, with their ranks.
	// The ranks of the others are gone, and the ranks behind them are renumbered.
	// It is asked again and again until the repair is complete, each time about all that are lost by
	// then. For whom a process was started is replaced, whatever it returns later: one that chooses
	// by the place in Lost, not by rank, may so replace more than it would if all were lost at once.
	Replaced func(d Damage) []int
	// AtDetection: who decides begins with the repair as soon as a process has failed: what
	// all others do ends at once, and replacements are started, before any of them has come.
	AtDetection bool
	// Aborts: nothing is repaired, the failure of a process ends the job.
	Aborts bool
}

// Damage is what a repair has to deal with.
type Damage struct {
	Lost   []int // by original rank, ascending
	Size   int   // ranks of the communicator, the lost ones included
	Spares int   // nodes that can be used and have no rank
	Slots  int   // free ones, those of lost processes included; as many as are lost, or more: for all
}

// The recovery policies: fewer ranks, renumbered; or as many as before, each
// replacement with the rank of the process whose place it takes; or all are rolled back as soon as one
// has failed, and who has a slot left is replaced (Reinit++, section 3.2).
const (
	Shrinking     Recovery = "SHRINKING"
	NonShrinking  Recovery = "NON-SHRINKING"
	GlobalRestart Recovery = "GLOBAL-RESTART"
	// Abort ends the job at the first failure, as MPI's default error handler does.
	Abort Recovery = "ABORT"
)

// Recoveries are all policies. A new one is added here, and its name to the values of
// CRAFT_COMM_RECOVERY_POLICY in internal/env.
var Recoveries = []RecoveryPolicy{
	{Name: Shrinking, Replaced: func(Damage) []int { return nil }},
	{Name: NonShrinking, Replaced: func(d Damage) []int { return d.Lost }},
	{Name: GlobalRestart, Replaced: func(d Damage) []int { return d.Lost[:min(len(d.Lost), d.Slots)] }, AtDetection: true},
	{Name: Abort, Replaced: func(Damage) []int { return nil }, Aborts: true},
}

// RecoveryNames are the names of all policies.
func RecoveryNames() []Recovery {
	var names []Recovery
	for _, p := range Recoveries {
		names = append(names, p.Name)
	}
	return names
}

// RecoveryOf is the policy of a name, which is one of them.
func RecoveryOf(name Recovery) RecoveryPolicy {
	i := slices.IndexFunc(Recoveries, func(p RecoveryPolicy) bool { return p.Name == name })
	return Recoveries[i]
}
