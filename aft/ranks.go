package aft

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/internal/engine"
)

// runRanks runs the ranks as goroutines. What they return together is told once.
func runRanks(ctx context.Context, o options, body func(context.Context, *Zone) error) error {
	var r results
	err := engine.RunRanks(ctx, o.ranks, func(ctx context.Context, s *comm.Session) error {
		r.add(ctx, s, runZone(ctx, s, o, body))
		return nil
	})
	return r.all(err)
}

// results are those of the ranks of one process.
type results struct {
	mu       sync.Mutex
	finished bool  // one has finished
	err      error // of one that has not failed
	lost     error // of one that has
}

func (r *results) add(ctx context.Context, s *comm.Session, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b *BodyError
	switch {
	case err == nil:
		r.finished = true
	case errors.As(err, &b) && b.Err != nil: // the original wins
		r.err = err
	case s.Place().Comm.Lease() != nil: // others may have gone on without it
		if r.lost = err; ctx.Err() != nil {
			r.lost = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	case r.err == nil:
		r.err = err
	}
}

// all is what the ranks return together; err is that of the engine.
func (r *results) all(err error) error {
	switch {
	case r.err != nil:
		return r.err
	case err != nil || r.finished:
		return err
	}
	return r.lost
}
