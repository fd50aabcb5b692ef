package comm

import "context"

// Rank numbers the members of a communicator from 0.
type Rank int

// AnySource matches a message of every sender.
const AnySource Rank = -1

// Tag tells messages between the same two ranks apart. Tags of programs are
// not negative; negative ones belong to this package and to the engines.
type Tag int

// AnyTag matches every tag that is not negative.
const AnyTag Tag = -1

// Status describes a completed receive.
type Status struct {
	Source Rank
	Tag    Tag
	Bytes  int // length of the message
}

// Comm is one rank's view of a group of ranks that exchange messages. Messages
// from one rank to another with matching tags arrive in the order they were
// sent. All methods may be called concurrently.
type Comm interface {
	Rank() Rank
	Size() int
	// Isend starts to send data. The caller must not change data before the
	// request has completed.
	Isend(dst Rank, tag Tag, data []byte) Request
	// Irecv starts to receive a message into buf. A message longer than buf is
	// an error (ErrTruncated) and is consumed.
	Irecv(src Rank, tag Tag, buf []byte) Request
}

// Request is a send or receive under way.
type Request interface {
	// Wait blocks until the operation has completed or ctx is done; then the
	// operation is withdrawn. Once Wait has returned, the engine touches the
	// buffer no more. It is called at most once.
	Wait(ctx context.Context) (Status, error)
}
