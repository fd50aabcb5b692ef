package aft

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/internal/hooks"
)

// Zone is one attempt of a body on one rank. Its methods may be called
// concurrently, but Repair, which the body's own goroutine calls.
type Zone struct {
	run     *run
	present atomic.Pointer[epochScope]

	goroutines goroutines
	cleanup    hooks.List

	// over is set when the zone has ended for this rank before its body has.
	over error
}

// Comm is the communicator of this attempt; after Repair, the new one.
func (z *Zone) Comm() *comm.Comm { return z.present.Load().place.Comm }

// Context ends when recovery starts, as the context that the body was given
// does; after Repair it is a new one.
func (z *Zone) Context() context.Context { return z.present.Load().ctx }

// Original is the rank of this process, or of the one whose place it took, in
// the first communicator of the job.
func (z *Zone) Original() comm.OriginalRank { return z.present.Load().place.Original }

// Node is the number of the node that this process runs on.
func (z *Zone) Node() int { return z.present.Load().place.Node }

// Epoch is the number of repairs of the job so far; that it was deployed again as a whole counts as one.
func (z *Zone) Epoch() int { return z.present.Load().place.Epoch }

// Replacement tells that this process was started in the place of one that
// failed, or with all others when the job was deployed again, and that this is its first attempt.
func (z *Zone) Replacement() bool { return z.present.Load().place.Replacement }

// Change is the repair from which the present communicator comes, the same to
// survivors and replacements; false before the first one of the zone in this deployment.
func (z *Zone) Change() (comm.Change, bool) {
	c := z.present.Load().place.Change
	if c == nil {
		return comm.Change{}, false
	}
	return *c, true
}

// FaultDetected reports whether this process knows of a failure, or the communicator is revoked: a
// recovery has to follow. With WithSynchronous a body asks where it may be left, and returns then.
func (z *Zone) FaultDetected() bool { return z.present.Load().pending() }

// Step says how far the program is in this zone: any number that grows with its
// progress, and never otherwise. When processes fail again and again while it does not
// grow, the job is ended instead of being repaired for ever.
func (z *Zone) Step(i int) { z.run.session.Step(int64(i)) }

// Cleanup has f called when the body of this attempt has ended, before the next
// attempt or before Run returns; the latest first. A panic of the body skips it.
func (z *Zone) Cleanup(f func()) {
	z.cleanup.Add(func(ctx context.Context) error {
		f()
		return z.cleanup.Call(ctx) // what f has added comes before what was there
	})
}

// clean calls the functions given to Cleanup, also those given meanwhile.
func (z *Zone) clean() { _ = z.cleanup.Call(z.run.ctx) }

// Stats tells of the recoveries so far. It is for the body's own goroutine.
func (z *Zone) Stats() Stats {
	s := z.run.stats
	s.Recoveries = z.Epoch()
	s.Failures = slices.Clone(s.Failures)
	return s
}
