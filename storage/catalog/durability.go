package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Durability is how safe a version is, in the words of people. Levels have no order, these
// rungs have one: who is on a rung has what those below promise, too, for as long as the job
// runs on the nodes that it has.
type Durability int

const (
	// Captured: it is in the memory of the program, or on its way, or nothing complete is
	// left of it.
	Captured Durability = iota
	// Local: it is complete in files, and survives the end of the processes; or in memory, and
	// survives that of any one. The loss of a node can take it, or a crash of machines that had not
	// synced it.
	Local
	// Redundant: it survives the loss of any one node.
	Redundant
	// AtHome: it is whole on the parallel file system, and synced.
	AtHome
	// Verified: that, and every byte was read back and is what its checksums say.
	Verified
)

var rungs = [...]string{"captured", "local", "redundant", "home", "verified"}

func (d Durability) String() string { return rungs[d] }

func (d Durability) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Durability) UnmarshalText(text []byte) error {
	i := slices.Index(rungs[:], string(text))
	if i < 0 {
		return fmt.Errorf("durability %q (allowed: %s)", text, strings.Join(rungs[:], ", "))
	}
	*d = Durability(i)
	return nil
}

// Durability is the rung that a version is on; synced: its files were, when they were
// published; verified: all its bytes at home were read.
func (k Kept) Durability(synced, verified bool) Durability {
	redundant := false
	for l := range k.Reached.All() {
		redundant = redundant || l.Survives.Nodes > 0 || l.Survives.OfEachSet > 0
	}
	switch {
	case k.Home && synced && verified:
		return Verified
	case k.Home && synced:
		return AtHome
	case redundant:
		return Redundant
	case k.Home || k.Reached != 0:
		return Local
	}
	return Captured
}
