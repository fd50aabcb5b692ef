package storage

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Level is a way in which a version is kept. Levels have no order: one in the memory
// of other processes outlives nodes and not the job, local storage the other way
// round. What is asked of two of them is whether one survives all that the other
// does. The zero Level is a version in the memory of the program alone.
type Level struct {
	Name       string
	Tier       Tier
	Redundancy Redundancy
	Survives   Losses
}

// Tier is where a level has the parts of a version.
type Tier uint8

const (
	// TierMemory is the memory of the processes of the job, outside of the program's data.
	TierMemory Tier = iota + 1
	// TierNode is the storage of each rank's node.
	TierNode
	// TierHome is the parallel file system.
	TierHome
)

// Redundancy is what there is of a version beside its parts.
type Redundancy uint8

const (
	// NoRedundancy: nothing.
	NoRedundancy Redundancy = iota
	// Copies: a copy of each part on another node.
	Copies
	// Parity: parities over sets of parts, each on another node.
	Parity
	// Replicas: several copies of each block, spread over the ranks.
	Replicas
)

// Losses says what a level survives.
type Losses struct {
	Process bool // the death of processes
	JobEnd  bool // the end of the job
	// Nodes is how many nodes, whichever they are, may be lost at the same time,
	// OfEachSet how many of each set of ranks that protect each other.
	Nodes, OfEachSet int
	Machines         bool // the loss of all nodes
}

// Cover reports whether what survives these losses survives all that others names.
func (l Losses) Cover(others Losses) bool {
	implies := func(a, b bool) bool { return a || !b }
	return implies(l.Process, others.Process) && implies(l.JobEnd, others.JobEnd) && implies(l.Machines, others.Machines) &&
		l.Nodes >= others.Nodes && l.OfEachSet >= others.OfEachSet
}

// The levels. Those on the nodes differ in what there is beside the parts; a part that
// is flushed is on the nodes and on the parallel file system until it is no longer
// kept on the nodes.
var (
	// Process: in the memory of each rank, and a copy or more in that of other ranks, which may be
	// on its node.
	Process = Declare(Level{"process", TierMemory, Replicas, Losses{Process: true}})
	// Mem: with copies on other nodes.
	Mem = Declare(Level{"mem", TierMemory, Replicas, Losses{Process: true, Nodes: 1}})
	// Local: on the node of each rank.
	Local = Declare(Level{"local", TierNode, NoRedundancy, Losses{Process: true, JobEnd: true}})
	// Partner: and a copy on another node.
	Partner = Declare(Level{"partner", TierNode, Copies, Losses{Process: true, JobEnd: true, Nodes: 1}})
	// XOR: and a parity over sets of ranks.
	XOR = Declare(Level{"xor", TierNode, Parity, Losses{Process: true, JobEnd: true, Nodes: 1, OfEachSet: 1}})
	// RS: and several parities over sets (Reed-Solomon), at least two.
	RS = Declare(Level{"rs", TierNode, Parity, Losses{Process: true, JobEnd: true, Nodes: 2, OfEachSet: 2}})
	// PFS: on the parallel file system.
	PFS = Declare(Level{"pfs", TierHome, NoRedundancy, Losses{Process: true, JobEnd: true, Nodes: math.MaxInt, OfEachSet: math.MaxInt, Machines: true}})
)

// declared are all levels, in the order in which they are shown. It is complete before
// main begins.
var declared []Level

// maxLevels is how many fit into a Levels and a Promises.
const maxLevels = 62

// Declare makes a level known: to ParsePolicy, and to all who show levels. It is called
// for variables of packages, and panics if the name is no word or taken.
func Declare(l Level) Level {
	if CheckName("level", l.Name) != nil || strings.ContainsAny(l.Name, ",:") || l.Tier == 0 || len(declared) == maxLevels {
		panic(fmt.Sprintf("level %q cannot be declared", l.Name))
	}
	if _, taken := levelNamed(l.Name); taken || strings.EqualFold(l.Name, captured) {
		panic(fmt.Sprintf("level %q is declared twice", l.Name))
	}
	declared = append(declared, l)
	return l
}

// captured is the name of the zero Level.
const captured = "captured"

// String gives the name; "captured" of the zero Level.
func (l Level) String() string {
	if l.Name == "" {
		return captured
	}
	return l.Name
}

// Covers reports whether a version at this level survives all that one at another
// level does.
func (l Level) Covers(other Level) bool { return l.Survives.Cover(other.Survives) }

// includes reports whether what makes a version of this level makes one of another level
// too: it does of itself, and of what survives less in the same place.
func (l Level) includes(other Level) bool {
	return l.Name == other.Name || l.Tier == other.Tier && l.Covers(other) && !other.Covers(l)
}

// Declared are all levels, in the order in which they are shown.
func Declared() []Level { return slices.Clone(declared) }

func levelNamed(name string) (Level, bool) {
	i := slices.IndexFunc(declared, func(l Level) bool { return strings.EqualFold(l.Name, name) })
	if i < 0 {
		return Level{}, false
	}
	return declared[i], true
}

// ParseLevel reads what String gives, in any case; "captured" is no level to ask for.
func ParseLevel(s string) (Level, error) {
	if l, ok := levelNamed(s); ok {
		return l, nil
	}
	var names []string
	for _, l := range declared {
		names = append(names, l.Name)
	}
	return Level{}, fmt.Errorf("level %q: allowed are %s", s, strings.Join(names, ", "))
}
