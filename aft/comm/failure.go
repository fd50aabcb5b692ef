package comm

import (
	"context"

	"github.com/craft-go/craft/aft/comm/driver"
)

// The methods below are what a program does about failures (the base operations of ULFM);
// they return ErrUnsupported where an engine does not have them. Agree and those that make
// communicators are collective over the processes that are alive: each takes part once, in
// the same order, and gets the same answer (uniform), whatever fails meanwhile. They work on
// revoked communicators, except Dup, Split and Spawn.

// Failed are the ranks known to have failed, ascending.
func (c *Comm) Failed() []Rank {
	if f, ok := c.driver.(driver.Failing); ok {
		return ranks(f.Failed())
	}
	return nil
}

// FailureKnown is closed when a process of c is known to have failed.
func (c *Comm) FailureKnown() <-chan struct{} {
	if f, ok := c.driver.(driver.Failing); ok {
		return f.FailureKnown()
	}
	return nil
}

// Acknowledge accepts all failures known so far: receives from AnySource are
// possible again, and Agree does not report them. It returns their ranks.
func (c *Comm) Acknowledge() []Rank {
	if f, ok := c.driver.(driver.Failing); ok {
		return ranks(f.Acknowledge())
	}
	return nil
}

// Revoke makes every operation on c end with ErrRevoked, at all ranks, also those under
// way, also if this process dies at once.
func (c *Comm) Revoke() error {
	r, ok := c.driver.(driver.Revoker)
	if !ok {
		return ErrUnsupported
	}
	r.Revoke()
	return nil
}

// Revoked is closed when c has been revoked.
func (c *Comm) Revoked() <-chan struct{} {
	if r, ok := c.driver.(driver.Revoker); ok {
		return r.Revoked()
	}
	return nil
}

// Agree returns the bitwise and of the flags of all ranks. If a process has failed that
// not all callers have acknowledged, the error is a FailedError at all of them, and the
// flags are valid all the same.
func (c *Comm) Agree(ctx context.Context, flags uint64) (uint64, error) {
	k := c.begin(ctx, "Agree", 0)
	a, ok := c.driver.(driver.Agreer)
	if !ok {
		return 0, k.end(ErrUnsupported)
	}
	flags, err := a.Agree(flags).Wait(ctx)
	return flags, k.end(typed(err))
}

// Shrink makes a communicator of the processes that are alive, in the same order.
func (c *Comm) Shrink(ctx context.Context, opts ...Option) (*Comm, error) {
	return c.make(ctx, "Shrink", driver.Maker.Shrink, opts)
}

// Dup makes a communicator of the same ranks whose messages are apart. See Split.
func (c *Comm) Dup(ctx context.Context, opts ...Option) (*Comm, error) {
	return c.make(ctx, "Dup", func(m driver.Maker, o driver.Options) driver.Making { return m.Split(0, int(c.rank), o) }, opts)
}

// Split makes a communicator of the ranks that give the same color, ordered by key and
// then by rank; nil for a rank whose color is negative. If a process of c has failed it
// fails at all ranks with a FailedError.
func (c *Comm) Split(ctx context.Context, color, key int, opts ...Option) (*Comm, error) {
	return c.make(ctx, "Split", func(m driver.Maker, o driver.Options) driver.Making { return m.Split(color, key, o) }, opts)
}

// Spawn starts a process for each of the original ranks and makes a communicator of them
// and the present ones (none of which may have failed), ordered by original rank. In the
// new processes it is the first one. In the body of a zone it is an error.
func (c *Comm) Spawn(ctx context.Context, missing []OriginalRank, opts ...Option) (*Comm, error) {
	list := make([]int, len(missing))
	for i, o := range missing {
		list[i] = int(o)
	}
	return c.make(ctx, "Spawn", func(m driver.Maker, _ driver.Options) driver.Making { return m.Spawn(list) }, opts)
}

// make starts to make a communicator and waits for it.
func (c *Comm) make(ctx context.Context, op string, start func(driver.Maker, driver.Options) driver.Making, opts []Option) (*Comm, error) {
	k := c.begin(ctx, op, 0)
	m, ok := c.driver.(driver.Maker)
	if !ok {
		return nil, k.end(ErrUnsupported)
	}
	var wanted Comm
	for _, set := range opts {
		set(&wanted)
	}
	made, err := start(m, driver.Options{Lasting: wanted.lasting}).Wait(ctx)
	if err = k.end(typed(err)); err != nil || made == nil {
		return nil, err
	}
	return newComm(made, c.session, opts), nil
}

// Free gives c back: it is of no use any more. It is local; what others still send on c is
// dropped. What this rank has under way on c should have completed: else it may end with
// ErrClosed, and whoever receives it waits. A program that makes communicators again and
// again frees them.
func (c *Comm) Free() {
	if f, ok := c.driver.(driver.Freer); ok {
		f.Free()
	}
}

// Lease returns ErrFenced when this process may have been declared dead.
func (c *Comm) Lease() error {
	if l, ok := c.driver.(driver.Leased); ok {
		return l.Lease()
	}
	return nil
}
