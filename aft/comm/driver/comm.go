package driver

import "context"

const (
	// AnySource matches a message of every sender.
	AnySource = -1
	// AnyTag matches every tag that is not negative.
	AnyTag = -1
	// EngineTag is the highest tag that engines may use for themselves.
	EngineTag = -1000
)

// Status describes a completed receive.
type Status struct {
	Source int
	Tag    int
	Bytes  int // length of the message
}

// Comm is one rank's view of a group of ranks that exchange messages. All methods may be
// called concurrently, and none waits for another rank.
type Comm interface {
	Rank() int
	Size() int
	// Isend starts to send data, which does not change before the request has
	// completed: a short message (1000 bytes), while there is room to buffer it, does so
	// without its receiver, a long one (1 MiB) waits for it. Errors are for Wait.
	Isend(dst, tag int, data []byte) Request
	// Irecv starts to receive a message into buf. A message longer than buf is
	// consumed: Wait returns its status and a TruncatedError.
	Irecv(src, tag int, buf []byte) Request
}

// Request is a send or receive under way.
type Request interface {
	// Wait blocks until the operation has completed or ctx is done; then what has
	// not completed is withdrawn: it sends or takes no message, and the error is
	// Withdrawn(ctx). Once Wait has returned, the engine touches the buffer no more.
	// It is called at most once.
	Wait(ctx context.Context) (Status, error)
}

// Taker is a communicator that hands messages over where they have arrived.
type Taker interface {
	// Itake is Irecv without a buffer, for a message of up to n bytes: take is given
	// the message in one or more pieces, in their order. It is called by the engine, which goes
	// on when it has returned, so it must not wait; it may read a piece only until
	// then. After Wait has returned it is called no more. If Wait returns an error,
	// take may have been given a part of the message.
	Itake(src, tag, n int, take func(piece []byte)) Request
}

// Vectored is a communicator that gathers a message from several pieces of memory.
type Vectored interface {
	// Isendv is Isend of the pieces in a row, as one message. Neither they nor the slice of them
	// change before the request has completed.
	Isendv(dst, tag int, pieces [][]byte) Request
}

// Freer is a communicator that can be given back. Free is local: the other ranks may
// still use theirs among each other. What arrives for it later is dropped.
type Freer interface {
	Free()
}

// Located is a communicator that knows which of its ranks share a node.
type Located interface {
	// Nodes is the node of each rank, in the numbers of Place.Node: what is lost with one
	// machine has one number. It is what it was when the communicator was made; -1: the process
	// was dead by then. nil: the engine does not say, as where a program is to play nodes itself.
	Nodes() []int
}

// Matches reports whether a receive for want takes a message with this tag.
func Matches(tag, want int) bool {
	return tag == want || want == AnyTag && tag >= 0
}

// FailedRequest is a request that could not be started: Wait returns err.
func FailedRequest(err error) Request { return failedRequest{err} }

type failedRequest struct{ err error }

func (r failedRequest) Wait(context.Context) (Status, error) { return Status{}, r.err }
