package comm

import (
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/comm/single"
)

// Rank numbers the members of a communicator from 0.
type Rank int

// OriginalRank numbers a process in the job's first communicator. It stays with
// the process, and with the one that replaces it, while its Rank may change in
// every repair.
type OriginalRank int

// AnySource matches a message of every sender.
const AnySource Rank = driver.AnySource

// Status describes a completed receive.
type Status struct {
	Source Rank
	Tag    Tag
	Bytes  int // length of the message
}

// Comm is one rank's view of a group of ranks that exchange messages. Messages
// from one rank to another with matching tags arrive in the order they were
// sent. All functions and methods may be called concurrently, but for those of one
// collective.
type Comm struct {
	driver  driver.Comm
	rank    Rank
	size    int
	name    string
	lasting bool
	session *Session
	sparse  atomic.Uint32 // calls of SparseAlltoallv
}

// New is the communicator of an engine.
func New(d driver.Comm, opts ...Option) *Comm { return newComm(d, &Session{bare: d.Size()}, opts) }

func newComm(d driver.Comm, s *Session, opts []Option) *Comm {
	c := &Comm{driver: d, rank: Rank(d.Rank()), size: d.Size(), session: s}
	for _, set := range opts {
		set(c)
	}
	return c
}

// Self is a communicator of one process: rank 0 of 1, which can send to itself.
// Each call returns another one.
func Self() *Comm { return New(single.New()) }

// Option is a property of one communicator, given where it is made.
type Option func(*Comm)

// WithName names a communicator in errors, and for observers.
func WithName(name string) Option { return func(c *Comm) { c.name = name } }

// Lasting has a communicator outlive the one that it is made of: revoking that does not reach
// it, a recovery keeps it, and it does not matter to it whether the bodies of a zone have
// returned. Among those that are alive it works all through a recovery; it does not take in
// replacements, which are met on the repaired communicator. All ranks give it or none. Spawn
// has no use for it.
func Lasting() Option { return func(c *Comm) { c.lasting = true } }

// Rank is that of this process.
func (c *Comm) Rank() Rank { return c.rank }

// Size is the number of ranks.
func (c *Comm) Size() int { return c.size }

// Name is that of WithName, or "".
func (c *Comm) Name() string { return c.name }

// Nodes is the node of each rank, in the numbers of Place.Node: ranks of one number are on one
// machine, or on one of those that a launcher or a test has made of it, and are lost together.
// nil: the engine does not say, so ranks that are goroutines (aft.WithRanks) can stand for any.
func (c *Comm) Nodes() []int {
	if l, ok := c.driver.(driver.Located); ok {
		return l.Nodes()
	}
	return nil
}

// Session is this process's part in the job that c belongs to.
func (c *Comm) Session() *Session { return c.session }

// isend is Isend for all tags.
func (c *Comm) isend(dst Rank, tag Tag, data []byte) Request {
	return Request{driver: c.driver.Isend(int(dst), int(tag), data)}
}

func (c *Comm) irecv(src Rank, tag Tag, buf []byte) Request {
	return Request{driver: c.driver.Irecv(int(src), int(tag), buf)}
}
