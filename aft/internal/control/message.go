package control

import (
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/osstring"
)

// Version is the version of the protocol; root, daemons and ranks must have the
// same. It grows with every change of a message.
const Version = 13

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

	// Down: away from the root.
	KindSetup  Kind = "setup"  // root -> daemon: the job
	KindStart  Kind = "start"  // root -> daemon: start processes
	KindPeers  Kind = "peers"  // root -> ranks: where processes can be reached
	KindMade   Kind = "made"   // root -> ranks: a collective operation has ended
	KindFailed Kind = "failed" // root -> ranks: processes have failed or left
	KindSignal Kind = "signal" // root -> daemon: send a signal to processes
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
	Kind Kind `json:"kind"`
	// To are the processes that a message from the root is for; empty: all of
	// the node. The daemon passes it on without To.
	To []Proc `json:"to,omitempty"`

	Ready   *Ready   `json:"ready,omitempty"`
	Hello   *Hello   `json:"hello,omitempty"`
	Begin   *Begin   `json:"begin,omitempty"`
	Joins   []Join   `json:"joins,omitempty"`
	Revoke  *Revoke  `json:"revoke,omitempty"`
	Free    *Free    `json:"free,omitempty"`
	Suspect *Suspect `json:"suspect,omitempty"`
	Bye     *Bye     `json:"bye,omitempty"`
	Exits   []Exit   `json:"exits,omitempty"`
	Pulse   *Pulse   `json:"pulse,omitempty"`
	Output  *Output  `json:"output,omitempty"`
	Credit  int      `json:"credit,omitempty"` // bytes
	Error   *Error   `json:"error,omitempty"`
	Setup   *Setup   `json:"setup,omitempty"`
	Start   []Start  `json:"start,omitempty"`
	Peers   []Peer   `json:"peers,omitempty"`
	Made    *Made    `json:"made,omitempty"`
	Failed  []Proc   `json:"failed,omitempty"`
	Left    []Proc   `json:"left,omitempty"` // with KindFailed: have ended normally
	Away    []Proc   `json:"away,omitempty"` // with KindFailed: their bodies have returned, and wait for the end of the zone
	Started []Proc   `json:"started,omitempty"`
	// Outlived are scripts that go on when the program has ended that they have started.
	Outlived []Proc  `json:"outlived,omitempty"`
	Signal   *Signal `json:"signal,omitempty"`
	Stack    *Stack  `json:"stack,omitempty"`

	Inherit  *Inherit         `json:"inherit,omitempty"`
	Bequests []driver.Bequest `json:"bequests,omitempty"`
}

// Ready is a daemon's first message.
type Ready struct {
	Version int    `json:"version"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	// Program identifies the program's file, to find different ones on the nodes.
	Program string `json:"program"`
	Path    string `json:"path"` // of the program, as the node has found it
}

// Hello is a rank's first message.
type Hello struct {
	Proc    Proc   `json:"proc"`
	Version int    `json:"version"`
	Address string `json:"address"` // for processes of the same host
	TCP     string `json:"tcp"`     // for those of other hosts; "" if there are none
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
	Proc Proc   `json:"proc"`
	Comm CommID `json:"comm"`
	Seq  uint64 `json:"seq"`
	Op   Op     `json:"op"`

	Flags        uint64          `json:"flags,omitempty"`        // agree
	Acknowledged []Proc          `json:"acknowledged,omitempty"` // agree
	Color        int             `json:"color,omitempty"`        // split
	Key          int             `json:"key,omitempty"`          // split
	Lasting      bool            `json:"lasting,omitempty"`      // shrink, split
	Missing      []Original      `json:"missing,omitempty"`      // spawn
	InZone       bool            `json:"in_zone,omitempty"`      // shrink, spawn: called by the body of a zone
	Policy       *driver.Policy  `json:"policy,omitempty"`       // repair
	Verdict      *driver.Verdict `json:"verdict,omitempty"`      // end
	Step         int64           `json:"step,omitempty"`         // repair, end: how far the program is in this zone; NoStep: unknown
}

// Made is the outcome of a collective operation for some of its processes, or
// (Op is "") the first communicator of processes that have just been started.
type Made struct {
	Comm CommID `json:"comm,omitempty"`
	Seq  uint64 `json:"seq,omitempty"`
	Op   Op     `json:"op,omitempty"`

	Flags    uint64          `json:"flags,omitempty"`
	Failed   []Proc          `json:"failed,omitempty"`   // why it failed, or what agree reports
	Revoked  bool            `json:"revoked,omitempty"`  // it failed because not all will take part any more
	Returned []Proc          `json:"returned,omitempty"` // with Revoked: only because their bodies have returned
	Err      string          `json:"err,omitempty"`      // another reason why it failed, at all
	New      *Group          `json:"new,omitempty"`      // the communicator made
	Change   *driver.Change  `json:"change,omitempty"`   // repair
	Outcome  *driver.Outcome `json:"outcome,omitempty"`
	// Epoch, Zone and ZoneErrors are those of the job, for processes that have just been
	// started; Stops are the signals that have asked for the end not long ago, which the
	// daemon gives them.
	Epoch       int                `json:"epoch,omitempty"`
	Zone        int                `json:"zone,omitempty"`
	ZoneErrors  []driver.ZoneError `json:"zone_errors,omitempty"`
	Replacement bool               `json:"replacement,omitempty"`
	Stops       []int              `json:"stops,omitempty"`
}

// Group is a communicator: its number and its processes in the order of their ranks.
type Group struct {
	ID      CommID `json:"id"`
	Procs   []Proc `json:"procs"`
	Lasting bool   `json:"lasting,omitempty"` // see driver.Options
}

// Revoke names a communicator; with Derived, all that were made of it too.
type Revoke struct {
	Comm    CommID `json:"comm"`
	Derived bool   `json:"derived,omitempty"`
}

// Suspect names a process that can no longer be reached. A rank that has lost its
// lease, or is evicted, names itself to its daemon before it ends itself.
type Suspect struct {
	Proc Proc   `json:"proc"`
	Why  string `json:"why"`
	Cut  bool   `json:"cut,omitempty"` // its host does not answer
	By   Proc   `json:"by,omitempty"`  // who says so; the daemon fills it in
	// Evicted: it names itself because its body is in the way of a roll-back.
	Evicted bool `json:"evicted,omitempty"`
}

// Inherit says who gets what a process has left; From itself: nobody does.
type Inherit struct {
	From Proc `json:"from"`
	To   Proc `json:"to"`
}

// Free says that a process has given a communicator back.
type Free struct {
	Proc Proc   `json:"proc"`
	Comm CommID `json:"comm"`
}

// Begin says that a zone runs: until it has ended no exit is the end of the program.
type Begin struct {
	Proc   Proc           `json:"proc"`
	Policy *driver.Policy `json:"policy,omitempty"` // what the zone recovers with
}

// Bye is a rank's last message.
type Bye struct {
	Proc Proc `json:"proc"`
}

// Exit says how a process has ended.
type Exit struct {
	Proc   Proc   `json:"proc"`
	Code   int    `json:"code"`             // exit code; -1: by a signal, or it could not be started
	Signal int    `json:"signal,omitempty"` // 0: not by a signal
	Why    string `json:"why,omitempty"`    // such as "signal: killed (no sign of life for 5s)"
	Panic  string `json:"panic,omitempty"`  // what a Go program has said when it panicked
	Fenced bool   `json:"fenced,omitempty"` // killed by the launcher: it was silent or in doubt
	// Evicted: with Fenced, its body was in the way of a roll-back.
	Evicted bool  `json:"evicted,omitempty"`
	Zone    int   `json:"zone,omitempty"` // in which the last step was reported
	Step    int64 `json:"step,omitempty"` // last step that it reported; NoStep: none
	// Ago: it had ended so long before this was told, as what it had started went on.
	Ago time.Duration `json:"ago,omitempty"`
}

// Pulse is a sign of life upwards, which is answered at once downwards with the same number: see
// Leases in the package's documentation. The root gives the whole lease, and a longer one at the
// start (Timing.Start); a daemon gives its ranks what is left of its own, but never more than
// Timing.Lease. A daemon says in turn how long its lease may still be, with the answers that are on
// their way: not before that has ended may the root think that it has.
type Pulse struct {
	Seq  uint64        `json:"seq"`
	Zone int           `json:"zone,omitempty"` // of a rank, as Step is
	Step int64         `json:"step,omitempty"` // of a rank; NoStep: it has reported none
	Left time.Duration `json:"left,omitempty"` // of the lease
}

// Output are whole lines (or a last unfinished one, or a piece of one that is
// too long) that a rank has written.
type Output struct {
	Proc   Proc   `json:"proc"`
	Stream int    `json:"stream"` // 1, 2
	Data   []byte `json:"data"`
}

// Stack is where a process is: the stack of the goroutine that runs the body.
type Stack struct {
	Proc Proc   `json:"proc"`
	Text string `json:"text,omitempty"` // upwards, as Go prints it
}

// Error says what a daemon cannot do.
type Error struct {
	Text string `json:"text"`
	// Ends: because of that it ends.
	Ends bool `json:"ends,omitempty"`
}

// Setup is the job as a daemon needs it. It is the first message to a daemon.
type Setup struct {
	Version int               `json:"version"`
	Job     string            `json:"job"`    // name of the job, random
	Secret  []byte            `json:"secret"` // of the job
	Node    Node              `json:"node"`
	Program osstring.String   `json:"program"`
	Args    []osstring.String `json:"args"`
	Dir     osstring.String   `json:"dir"` // working directory
	Env     []osstring.String `json:"env"` // added to the daemon's
	Size    int               `json:"size"`
	Hosts   int               `json:"hosts"`   // number of different hosts; 1: no TCP between ranks
	Address string            `json:"address"` // of this host, as other hosts reach it
	// NodePath is the directory of the node's own storage; "": a temporary one.
	NodePath osstring.String `json:"node_path"`
	Timing   Timing          `json:"timing"`
	// Remote: the root is on another host, or may be. While this one sleeps, time
	// goes on there.
	Remote bool `json:"remote,omitempty"`
	// Up, in the setup of a rank, identifies its pipe to the daemon: a script may have put another one in that place.
	// 0: the system does not tell.
	Up uint64 `json:"up,omitempty"`
}

// Timing says how silence is judged.
type Timing struct {
	// Period is the time between two signs of life.
	Period time.Duration `json:"period"`
	// Lease is the time of silence after which a process or a node is fenced: a
	// daemon that has not heard the root for so long kills its ranks, a rank
	// that has not heard its daemon ends itself.
	Lease time.Duration `json:"lease"`
	// Margin is what the root waits in addition before it declares a silent
	// node dead.
	Margin time.Duration `json:"margin"`
	// Start is how long daemons may take to report, and the lease of a node until
	// the first world is made, if it is longer than Lease: where much is started at
	// once nobody gets much time. 0: they may take for ever, with the usual lease.
	Start time.Duration `json:"start,omitempty"`
	// Repair is how long a repair waits for processes that are alive but do not
	// come; then they are fenced.
	Repair time.Duration `json:"repair"`
}

// Start is a process to be started. Of a spare rank Original is Asleep: Peers tell it what it stands for, and
// then Made of its first communicator.
type Start struct {
	Proc     Proc     `json:"proc"`
	Original Original `json:"original"`
	Epoch    int      `json:"epoch"`
}

// Peer says where a process can be reached.
type Peer struct {
	Proc     Proc     `json:"proc"`
	Original Original `json:"original"`
	Node     Node     `json:"node"`
	Host     string   `json:"host"`
	Address  string   `json:"address"`
	TCP      string   `json:"tcp,omitempty"`
}

// Signal is a signal for processes, or for all of the node if there are none.
type Signal struct {
	Number int    `json:"number"`
	Procs  []Proc `json:"procs,omitempty"`
	Why    string `json:"why,omitempty"` // for the report of a process that it kills
}
