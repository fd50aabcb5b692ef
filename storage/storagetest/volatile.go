package storagetest

import (
	"slices"

	"github.com/craft-go/craft/storage"
)

// Volatile is a level for tests: a version at it survives the loss of any one node, and
// not the end of the job, so that neither it nor storage.Local covers the other.
var Volatile = storage.Declare(storage.Level{
	Name: "volatile", Tier: storage.TierNode, Redundancy: storage.Copies,
	Survives: storage.Losses{Process: true, Nodes: 1},
})

// Protecting are the levels at which parts are protected in files on other nodes. Tests of losses
// take all that are declared, so that a new level is in them.
func Protecting() []storage.Level {
	return slices.DeleteFunc(Surviving(), func(l storage.Level) bool { return l.Tier == storage.TierMemory })
}

// Surviving are the levels below the home that survive the loss of a node while the job runs: those,
// and the ones in memory.
func Surviving() []storage.Level {
	return slices.DeleteFunc(storage.Declared(), func(l storage.Level) bool { return l.Survives.Nodes == 0 || l.Tier == storage.TierHome })
}
