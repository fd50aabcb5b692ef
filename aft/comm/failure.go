package comm

import (
	"context"
	"errors"
)

// ErrUnsupported is returned when a communicator's engine cannot do what was
// asked of it: a single process cannot be replaced, for example.
var ErrUnsupported = errors.New("not supported by this communicator")

// The interfaces below are what a communicator can do about failures (the base
// operations of ULFM). Engines implement them on their Comm; programs use the
// functions of the same names, which return ErrUnsupported where an engine does
// not. All but Revoke, Failed and Acknowledge are collective over the processes
// that are alive: each takes part once, in the same order, and gets the same
// answer (uniform), whatever fails meanwhile. They work on revoked communicators,
// except Dup, Split and Spawn.

// Failing is a communicator that knows which of its processes have failed.
type Failing interface {
	// Failed are the ranks known to have failed, ascending.
	Failed() []Rank
	// Acknowledge accepts all failures known so far: receives from AnySource are
	// possible again, and Agree does not report them. It returns their ranks.
	Acknowledge() []Rank
}

// Revoker is a communicator that can be made unusable for all.
type Revoker interface {
	// Revoke makes every operation on the communicator end with ErrRevoked, at
	// all ranks, also those under way, also if this process dies at once.
	Revoke()
	// Revoked is closed when the communicator has been revoked.
	Revoked() <-chan struct{}
}

// Agreer is a communicator whose processes can agree.
type Agreer interface {
	// Agree returns the bitwise and of all flags. If a process has failed that
	// not all callers have acknowledged, the error is a FailedError at all of
	// them, and the flags are valid all the same.
	Agree(ctx context.Context, flags uint64) (uint64, error)
}

// Maker is a communicator that others can be made of.
type Maker interface {
	// Shrink makes one of the processes that are alive, in the same order.
	Shrink(ctx context.Context) (Comm, error)
	// Split makes one of the ranks that give the same color, ordered by key and
	// then by rank; nil for a rank whose color is negative. If a process of the
	// communicator has failed it fails at all ranks with a FailedError.
	Split(ctx context.Context, color, key int) (Comm, error)
	// Spawn starts a process for each of the original ranks and makes a
	// communicator of them and the present ones (none of which may have failed),
	// ordered by original rank. In the new processes it is the first one. In the body
	// of a zone it is an error.
	Spawn(ctx context.Context, missing []OriginalRank) (Comm, error)
}

// Leased is a communicator of a process that others declare dead after a time of
// silence. A process that has lost its lease must not publish anything.
type Leased interface {
	// Lease returns ErrFenced when this process may have been declared dead.
	Lease() error
}

// ErrFenced is returned to a process that the others may have declared dead
// because it was not heard of: it must not publish anything any more.
var ErrFenced = errors.New("this process has lost its lease")

// Repairable is a communicator that tells what belongs to it when it is given up.
type Repairable interface {
	// OnRepair has f called before the processes are rolled back or the job's
	// communicator is replaced, and when a zone ends. f ends what still uses the
	// communicator or the data of the attempt. remove takes f back.
	OnRepair(f func(ctx context.Context) error) (remove func())
}

// Failed are the ranks of c known to have failed, ascending.
func Failed(c Comm) []Rank {
	if f, ok := c.(Failing); ok {
		return f.Failed()
	}
	return nil
}

// Acknowledge accepts all failures of c known so far and returns their ranks.
func Acknowledge(c Comm) []Rank {
	if f, ok := c.(Failing); ok {
		return f.Acknowledge()
	}
	return nil
}

// Revoke makes c unusable for all its ranks.
func Revoke(c Comm) error {
	r, ok := c.(Revoker)
	if !ok {
		return ErrUnsupported
	}
	r.Revoke()
	return nil
}

// Agree returns the bitwise and of the flags of all ranks: see Agreer.
func Agree(ctx context.Context, c Comm, flags uint64) (uint64, error) {
	if a, ok := c.(Agreer); ok {
		return a.Agree(ctx, flags)
	}
	return 0, ErrUnsupported
}

// Shrink makes a communicator of the ranks of c that are alive: see Maker.
func Shrink(ctx context.Context, c Comm) (Comm, error) {
	if m, ok := c.(Maker); ok {
		return m.Shrink(ctx)
	}
	return nil, ErrUnsupported
}

// Dup makes a communicator of the same ranks whose messages are apart.
func Dup(ctx context.Context, c Comm) (Comm, error) {
	return Split(ctx, c, 0, int(c.Rank()))
}

// Split makes a communicator of the ranks that give the same color: see Maker.
func Split(ctx context.Context, c Comm, color, key int) (Comm, error) {
	if m, ok := c.(Maker); ok {
		return m.Split(ctx, color, key)
	}
	return nil, ErrUnsupported
}

// Spawn starts processes for missing original ranks: see Maker.
func Spawn(ctx context.Context, c Comm, missing []OriginalRank) (Comm, error) {
	if m, ok := c.(Maker); ok {
		return m.Spawn(ctx, missing)
	}
	return nil, ErrUnsupported
}

// Lease returns ErrFenced when this process may have been declared dead.
func Lease(c Comm) error {
	if l, ok := c.(Leased); ok {
		return l.Lease()
	}
	return nil
}

// OnRepair has f called before c is given up: see Repairable. Where c's engine
// does not repair anything, f is never called.
func OnRepair(c Comm, f func(ctx context.Context) error) (remove func()) {
	if r, ok := c.(Repairable); ok {
		return r.OnRepair(f)
	}
	return func() {}
}
