package driver

import "context"

// What the methods below do is said at those of comm.Comm with their names.

// Failing is a communicator that knows which of its processes have failed.
type Failing interface {
	Failed() []int
	FailureKnown() <-chan struct{}
	Acknowledge() []int
}

// Revoker is a communicator that can be made unusable for all.
type Revoker interface {
	Revoke()
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
	Shrink(o Options) Making
	Split(color, key int, o Options) Making
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
	Lease() error
}
