package control

import (
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/osstring"
)

// Version is the version of the protocol; root, daemons and ranks must have the
// same. It grows with every change of a message, which begins with it.
const Version = 16

// LongestError is how much of a body's error the others are told, in bytes.
const LongestError = 16 << 10

// Proc numbers the processes of a job, in the order they were started; none is used again.
type Proc uint32

// Original is a rank of the job's first communicator: what a process, or its replacement, stands for.
type Original int

// Node numbers the nodes of a job, spare ones included, from 0.
type Node int

// CommID numbers the communicators of a job, from 1, the first one of all ranks; none is used again.
type CommID uint64

// Kind tells what a message is about: a message between root and rank passes through the rank's daemon.
type Kind string

// The kinds of messages.
const (
	// Up: towards the root.
	KindReady   Kind = "ready"   // daemon -> root: the daemon is there
	KindHello   Kind = "hello"   // rank -> root: the process has joined and can be reached
	KindBegin   Kind = "begin"   // rank -> root: the process begins with a zone
	KindJoin    Kind = "join"    // rank -> root, gathered by daemons: takes part in a collective operation
	KindRevoke  Kind = "revoke"  // rank -> root: revoke a communicator. root -> ranks: it is revoked
	KindFree    Kind = "free"    // rank -> root: a communicator is of no use for the process any more
	KindSuspect Kind = "suspect" // rank -> root: the connection to a process has broken
	KindBye     Kind = "bye"     // rank -> root: the process takes part no more and will exit
	KindExit    Kind = "exit"    // daemon -> root: processes have ended
	KindPulse   Kind = "pulse"   // rank -> daemon, daemon -> root: alive. The answer renews the lease
	KindStack   Kind = "stack"   // root -> rank: where are you? rank -> root: the answer
	KindOutput  Kind = "output"  // daemon -> root: lines that a rank has written
	KindCredit  Kind = "credit"  // root -> daemon: output has been taken over
	KindError   Kind = "error"   // daemon -> root: the daemon cannot do what it was asked to
	KindStarted Kind = "started" // daemon -> root: processes have been started
	// guard of a daemon -> root: the daemon has ended, not well, and nothing of it is left.
	KindGone Kind = "gone"
	// daemon -> root: the programs of processes have ended, but not what has started them.
	KindOutlived Kind = "outlived"
	KindAsk      Kind = "ask"    // rank or daemon -> root: a demand for the job
	KindPassed   Kind = "passed" // rank -> root, gathered by daemons: how many calls have passed
	// daemon -> root: a demand (Ask) for the job as long as this node belongs to it.
	KindNotice Kind = "notice"

	// Down: away from the root.
	KindSetup  Kind = "setup"  // root -> daemon: the job
	KindStart  Kind = "start"  // root -> daemon: start processes
	KindPeers  Kind = "peers"  // root -> ranks: where processes can be reached
	KindMade   Kind = "made"   // root -> ranks: a collective operation has ended
	KindFailed Kind = "failed" // root -> ranks: processes have failed or left
	KindSignal Kind = "signal" // root -> daemon: send a signal to processes
	KindHold   Kind = "hold"   // root -> ranks: demands, and calls wait
	KindMeet   Kind = "meet"   // root -> ranks: the call at which what was demanded is done
	KindStop   Kind = "stop"   // root -> daemon: kill what runs, and end
	// root -> daemon: a process inherits what another one has left. rank -> daemon: it has it.
	KindInherit Kind = "inherit"
	// rank -> daemon, daemon -> rank: what a process leaves to the one that replaces it.
	KindBequest Kind = "bequest"
)

// Message is one message of the control plane: its kind and the field that
// belongs to it (KindFailed has three, Failed, Left and Away, and so has the KindSetup of a rank,
// Setup and Start).
type Message struct {
	Kind Kind
	// To are the processes that a message from the root is for; empty: all of
	// the node. The daemon passes it on without To.
	To []Proc

	Ready   *Ready
	Hello   *Hello
	Begin   *Begin
	Joins   []Join
	Revoke  *Revoke
	Free    *Free
	Suspect *Suspect
	Bye     *Bye
	Exits   []Exit
	Pulse   *Pulse
	Output  *Output
	Credit  int // bytes
	Error   *Error
	Setup   *Setup
	Start   []Start
	Peers   []Peer
	Made    *Made
	Failed  []Proc
	Left    []Proc // with KindFailed: have ended normally
	Away    []Proc // with KindFailed: their bodies have returned, and wait for the end of the zone
	Started []Proc
	// Outlived are scripts that go on when the program has ended that they have started.
	Outlived []Proc
	Signal   *Signal
	Stack    *Stack

	Inherit  *Inherit
	Bequests []driver.Bequest

	Ask    *demand.Demand
	Hold   *demand.Hold
	Passed *Passed
	Meet   *demand.Meet
}

// Ready is a daemon's first message.
type Ready struct {
	Version int
	Host    string
	PID     int
	// Program identifies the program's file, to find different ones on the nodes.
	Program string
	Path    string // of the program, as the node has found it
}

// Hello is a rank's first message.
type Hello struct {
	Proc    Proc
	Version int
	Address string // for processes of the same host
	TCP     string // for those of other hosts; "" if there are none
	Takes   []Take // by number
}

// Take is what the program does with a signal.
type Take struct {
	Signal int
	Takes  demand.Takes
}

// Passed is the answer of processes to a Hold. Those of one node share a message: of the calls in a lane only the
// largest number counts.
type Passed struct {
	Procs []Proc // a process says nothing here
	demand.Passed
}

// Op is a collective operation that the root decides.
type Op string

// The collective operations.
const (
	OpAgree  Op = "agree"
	OpShrink Op = "shrink"
	OpSplit  Op = "split"
	OpSpawn  Op = "spawn"
	OpRepair Op = "repair"
	OpEnd    Op = "end"
)

// Class are the operations on a communicator that are numbered together.
type Class uint64

// The classes.
const (
	OfSurvivors Class = iota // also on revoked communicators
	OfLiving                 // end when the communicator is revoked
	OfZone
	Classes // how many there are
)

// Class is that of an operation.
func (op Op) Class() Class {
	switch op {
	case OpSplit, OpSpawn:
		return OfLiving
	case OpRepair, OpEnd:
		return OfZone
	}
	return OfSurvivors
}

// Seq numbers an operation of the class, as Join says.
func (c Class) Seq(n uint64) uint64 { return uint64(c)<<60 + n }

// Join is one process's part in a collective operation. All processes of a communicator number
// the operations on it alike, those of each class from class<<60: so Seq tells the class too, and
// a process that leaves the one kind out does not get out of step in the other.
type Join struct {
	Proc Proc
	Comm CommID
	Seq  uint64
	Op   Op

	Flags        uint64          // agree
	Acknowledged []Proc          // agree
	Color        int             // split
	Key          int             // split
	Lasting      bool            // shrink, split
	Missing      []Original      // spawn
	InZone       bool            // shrink, spawn: called by the body of a zone
	Policy       *driver.Policy  // repair
	Verdict      *driver.Verdict // end
	Step         int64           // repair, end: how far the program is in this zone; NoStep: unknown
}

// Made is the outcome of a collective operation for some of its processes, or
// (Op is "") the first communicator of processes that have just been started.
type Made struct {
	Comm CommID
	Seq  uint64
	Op   Op

	Flags    uint64
	Failed   []Proc         // why it failed, or what agree reports
	Revoked  bool           // it failed because not all will take part any more
	Returned []Proc         // with Revoked: only because their bodies have returned
	Err      string         // another reason why it failed, at all
	Ends     demand.Cause   // with Err: there is none but that the job ends, for this cause
	New      *Group         // the communicator made
	Change   *driver.Change // repair
	Outcome  *driver.Outcome
	// Epoch, Zone and ZoneErrors are those of the job, for processes that have just been
	// started; Stops are the signals that have asked for the end not long ago, which the
	// daemon gives them.
	Epoch       int
	Zone        int
	ZoneErrors  []driver.ZoneError
	Replacement bool
	Stops       []int
}

// Group is a communicator: its number and its processes, in the order of their ranks, or as a difference.
type Group struct {
	ID      CommID
	Procs   []Proc
	Since   *Difference // in place of Procs
	Lasting bool        // see driver.Options
}

// Difference is that of a communicator from Made.Comm, which who has joined the operation knows: a failure is told
// in as many bytes whatever the number of ranks. All others have their order. Change.Ranks follow from it, and are
// left out.
type Difference struct {
	Of       CommID
	Replaced []Replaced
	Without  []Proc
	Added    []Added // by rank
}

// Replaced is a process, and who has its place.
type Replaced struct {
	Proc Proc
	By   Proc
}

// Added is a process that is put in, and its rank then.
type Added struct {
	Rank int
	Proc Proc
}

// Revoke names a communicator; with Derived, all that were made of it too.
type Revoke struct {
	Comm    CommID
	Derived bool
}

// Suspect names a process that can no longer be reached. A rank that has lost its
// lease, or is evicted, names itself to its daemon before it ends itself.
type Suspect struct {
	Proc Proc
	Why  string
	Cut  bool // its host does not answer
	By   Proc // who says so; the daemon fills it in
	// Evicted: it names itself because its body is in the way of a roll-back.
	Evicted bool
}

// Inherit says who gets what a process has left; From itself: nobody does.
type Inherit struct {
	From Proc
	To   Proc
}

// Free says that a process has given a communicator back.
type Free struct {
	Proc Proc
	Comm CommID
}

// Begin says that a zone runs: until it has ended no exit is the end of the program.
type Begin struct {
	Proc   Proc
	Policy *driver.Policy // what the zone recovers with
}

// Bye is a rank's last message.
type Bye struct {
	Proc Proc
}

// Exit says how a process has ended.
type Exit struct {
	Proc   Proc
	Code   int    // exit code; -1: by a signal, or it could not be started
	Signal int    // 0: not by a signal
	Why    string // such as "signal: killed (no sign of life for 5s)"
	Panic  string // what a Go program has said when it panicked
	Fenced bool   // killed by the launcher: it was silent or in doubt
	// Evicted: with Fenced, its body was in the way of a roll-back.
	Evicted bool
	Zone    int   // in which the last step was reported
	Step    int64 // last step that it reported; NoStep: none
	// Ago: it had ended so long before this was told, as what it had started went on.
	Ago time.Duration
}

// Pulse is a sign of life upwards, which is answered at once downwards with the same number: see
// Leases in the package's documentation. The root gives the whole lease, and a longer one at the
// start (Timing.Start); a daemon gives its ranks what is left of its own, but never more than
// Timing.Lease. A daemon says in turn how long its lease may still be, with the answers that are on
// their way: not before that has ended may the root think that it has.
type Pulse struct {
	Seq  uint64
	Zone int           // of a rank, as Step is
	Step int64         // of a rank; NoStep: it has reported none
	Left time.Duration // of the lease
}

// Output are whole lines (or a last unfinished one, or a piece of one that is
// too long) that a rank has written.
type Output struct {
	Proc   Proc
	Stream int // 1, 2
	Data   []byte
}

// Stack is where a process is: the stack of the goroutine that runs the body.
type Stack struct {
	Proc Proc
	Text string // upwards, as Go prints it
}

// Error says what a daemon cannot do.
type Error struct {
	Text string
	// Ends: because of that it ends.
	Ends bool
}

// Setup is the job as a daemon needs it. It is the first message to a daemon.
type Setup struct {
	Version int
	Job     string // name of the job, random
	Secret  []byte // of the job
	Node    Node
	Program osstring.String
	Args    []osstring.String
	Dir     osstring.String   // working directory
	Env     []osstring.String // added to the daemon's
	Size    int
	Hosts   int    // number of different hosts; 1: no TCP between ranks
	Address string // of this host, as other hosts reach it
	// NodePath is the directory of the node's own storage; "": a temporary one.
	NodePath osstring.String
	Timing   Timing
	// Remote: the root is on another host, or may be. While this one sleeps, time
	// goes on there.
	Remote bool
	// Grace is how long after a signal that asks for the end there is until everything has to be over; 0: nobody knows.
	Grace time.Duration
	// Daemon, in the setup of a rank, is its daemon, as procid.ID.Encode writes it.
	Daemon string
	// Up, in the setup of a rank, identifies its pipe to the daemon: a script may have put another one in that place.
	// 0: the system does not tell.
	Up uint64
}

// Timing says how silence is judged.
type Timing struct {
	// Period is the time between two signs of life.
	Period time.Duration
	// Lease is the time of silence after which a process or a node is fenced: a
	// daemon that has not heard the root for so long kills its ranks, a rank
	// that has not heard its daemon ends itself.
	Lease time.Duration
	// Margin is what the root waits in addition before it declares a silent
	// node dead.
	Margin time.Duration
	// Start is how long daemons may take to report, and the lease of a node until
	// the first world is made, if it is longer than Lease: where much is started at
	// once nobody gets much time. 0: they may take for ever, with the usual lease.
	Start time.Duration
	// Repair is how long a repair waits for processes that are alive but do not
	// come; then they are fenced.
	Repair time.Duration
}

// Start is a process to be started. Of a spare rank Original is Asleep: Peers tell it what it stands for, and
// then Made of its first communicator.
type Start struct {
	Proc     Proc
	Original Original
	Epoch    int
}

// Peer says where a process can be reached.
type Peer struct {
	Proc     Proc
	Original Original
	Node     Node
	Host     string
	Address  string
	TCP      string
}

// Signal is a signal for processes, or for all of the node if there are none.
type Signal struct {
	Number int
	Procs  []Proc
	Why    string // for the report of a process that it kills
}
