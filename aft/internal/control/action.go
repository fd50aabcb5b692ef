package control

import "log/slog"

// Action is something that the root wants done: exactly one field is set. Actions
// are carried out in their order.
type Action struct {
	Send *Send
	// Fence names a node whose daemon, or the launch agent that leads to it, is
	// to be killed. Its death is reported with Lost if it was not before.
	Fence *Node
	Note  *Note
	// End is the last action of a job.
	End *End
}

// Send is a message for a daemon. It must not be changed: others may share it.
type Send struct {
	Node    Node
	Message Message
	Body    *Body // of Message, with others to other nodes; nil: there are none
}

// Note is something that the user may want to read.
type Note struct {
	Level slog.Level
	Text  string
	Attrs []any // as for slog.Logger.Log
}

// End is how the job has ended.
type End struct {
	Code   int    // exit code for the launcher
	Report string // why, for the user; "" when all is well
	GaveUp bool   // the root has ended the job; otherwise its processes have all ended
}

// DaemonAction is something that a daemon's machine wants done: exactly one field
// is set. Actions are carried out in their order.
type DaemonAction struct {
	ToRoot *Message
	ToRank *ToRank
	Start  *Start
	Kill   *Kill
	// End is the last action: every process that is still there is killed and
	// reaped, and the daemon exits.
	End *EndDaemon
}

// ToRank is a message for a process of the node.
type ToRank struct {
	Proc    Proc
	Message Message
	Body    *Body // of Message, with others to other processes; nil: there are none
}

// Kill is a signal for a process of the node (and its process group).
type Kill struct {
	Proc   Proc
	Signal int
	Why    string // "": the signal was forwarded
}

// EndDaemon is how a daemon ends.
type EndDaemon struct {
	Code int
	Why  string // "": the root has asked for it
}
