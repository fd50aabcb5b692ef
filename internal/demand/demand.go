package demand

import (
	"fmt"
	"time"
)

// Cause is why a job is to end.
type Cause uint8

// The causes. None: it is not to end, a version is asked for.
const (
	None      Cause = iota
	Deadline        // its time is over: go on later
	Halt            // somebody has ended it: do not go on by itself
	Interrupt       // Ctrl-C
	Causes          // how many there are
)

// String is for people.
func (c Cause) String() string {
	switch c {
	case None:
		return "save"
	case Deadline:
		return "end"
	case Halt:
		return "halt"
	case Interrupt:
		return "interrupt"
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// NoLimit is the Left of a demand without a deadline.
const NoLimit = time.Duration(-1)

// Demand is what a job is asked for.
type Demand struct {
	ID     string        // of a request that waits for an answer; "": nobody does
	Cause  Cause         // why to end; None: a version, and the job goes on
	Source string        // who asks, for people: "SIGTERM at rank 3"; the same source asks for the same thing
	Left   time.Duration // until everything has to be over, when this was said; NoLimit: there is no limit
	// For is the checkpoint that a version is asked of, by its own trigger; "": whichever comes first.
	For string
	// Planned: it is told to all now, and asked for again, without this, when the time has come. With
	// Left NoLimit the plan of the source is gone.
	Planned bool
}

// Ends reports whether the job is to end.
func (d Demand) Ends() bool { return d.Cause != None }

// World is the lane of what all ranks of a job call.
const World = ""

// Position is where a lane stands: how many calls have passed.
type Position struct {
	Lane  string
	Calls uint64
	Open  bool // a checkpoint of it is open
}

// Hold has all processes wait at their next call, and say how many have passed.
type Hold struct {
	Serial  uint64 // ascending
	Demands []Demand
	// Told: nobody waits, and Serial is none: a plan, or the deadline of the end, is another one.
	Told bool
}

// Passed is the answer of a process to a Hold.
type Passed struct {
	Serial uint64
	Lanes  []Position
	// Changed: it is no answer, the lanes are others than the meeting of Serial was decided for.
	Changed bool
	// Stored: it is no answer, all ranks of the lanes have done what the meeting of Serial was for.
	Stored bool
}

// Meet says which call of each lane is the one for the demands of the Hold: Calls is its number,
// counted from 1. Other lanes go on.
type Meet struct {
	Serial uint64
	Lanes  []Position
}
