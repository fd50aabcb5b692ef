package driver

import "context"

// Failing is a communicator that knows which of its processes have failed.
type Failing interface {
	// Failed are the ranks known to have failed, ascending.
	Failed() []int
	// FailureKnown is closed when a process is known to have failed.
	FailureKnown() <-chan struct{}
	// Acknowledge accepts all failures known so far: receives from AnySource are
	// possible again, and an agreement does not report them. It returns their ranks.
	Acknowledge() []int
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
	// Agree starts to agree on the bitwise and of all flags.
	Agree(flags uint64) Agreement
}

// Agreement is one under way.
type Agreement interface {
	// Wait returns the flags. If a process has failed that not all callers have
	// acknowledged, the error is a FailedError at all of them, and the flags are valid all
	// the same. When ctx ends first, the others do not wait for this rank in vain: its part
	// has been played when Agree was called. It is called at most once.
	Wait(ctx context.Context) (flags uint64, err error)
}

// Options are properties of a communicator that is made, the same at all ranks.
type Options struct {
	// Lasting: it is not given up with what it was made of. A Revoke of that does not reach
	// it, a repair of the job keeps it (without the processes that have failed: it is as local
	// as any communicator), and it does not matter to it whether the bodies of a zone have
	// returned.
	Lasting bool
}

// Maker is a communicator that others can be made of. Each is started by the method, in
// the same order at all ranks, and waited for.
type Maker interface {
	// Shrink makes one of the processes that are alive, in the same order.
	Shrink(o Options) Making
	// Split makes one of the ranks that give the same color, ordered by key and
	// then by rank; nil for a rank whose color is negative. If a process of the
	// communicator has failed it fails at all ranks with a FailedError.
	Split(color, key int, o Options) Making
	// Spawn starts a process for each of the original ranks and makes a
	// communicator of them and the present ones (none of which may have failed),
	// ordered by original rank. In the new processes it is the first one. In the body
	// of a zone it is an error.
	Spawn(missing []int) Making
}

// Making is a communicator that is being made.
type Making interface {
	// Wait returns it; see Agreement for a ctx that ends first. It is called at most once.
	Wait(ctx context.Context) (Comm, error)
}

// Leased is a communicator of a process that others declare dead after a time of
// silence. A process that has lost its lease must not publish anything.
type Leased interface {
	// Lease returns ErrFenced when this process may have been declared dead.
	Lease() error
}
