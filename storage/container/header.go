package container

import (
	"math"
	"time"
)

// LineageID names a chain of runs that restart from one another. Random.
type LineageID [16]byte

// AttemptID names one run (from its start or restart to its end). Random.
type AttemptID [8]byte

// NoIteration is the Iteration of a version that was written without one.
const NoIteration = math.MinInt64

// Header is the identity of one rank's file of one version.
type Header struct {
	Name      string // of the checkpoint
	Lineage   LineageID
	Attempt   AttemptID
	Version   uint64 // counts from 1
	Iteration int64  // or NoIteration
	Rank      int    // 0 <= Rank < Size
	Size      int    // ranks in the group that wrote the version
	Created   time.Time
	// Ancestors are the parent, its parent and so on, of a nested checkpoint.
	Ancestors []Ancestor
	// Fingerprint is canonical JSON of the program's problem, or empty.
	Fingerprint []byte
	// Level is how the version is to be protected on the nodes, for readers that do not
	// know FieldLevels (0: it is not there), Flush whether it is to be copied to the parallel file
	// system. Nothing is read differently because of them. Since format 1.1.
	Level uint8
	Flush bool
	// Oldest: no chunk of this file is in the file of an older version than this
	// one, of the same attempt; 0: all its chunks are in it. It is set by the
	// Encoder and may be older than need be: Reader.Refs has the versions that
	// chunks are really in. Since format 1.1.
	Oldest uint64
	// Fields are additions that a reader may do without.
	Fields Fields
}

// Ancestor says which version of an outer checkpoint was the last one captured
// when this version was.
type Ancestor struct {
	Name    string
	Attempt AttemptID
	Version uint64 // 0: none
	Calls   uint64 // UpdateAndWrite calls of the ancestor since, written or not
}
