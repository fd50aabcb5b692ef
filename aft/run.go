package aft

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/internal/engine"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/logqueue"
)

// Run runs body on every rank until it has ended on all of them without a
// failure. When processes fail, or the communicator is revoked, the survivors
// (and replacements) run it again on a repaired communicator, also those whose
// body had ended. So body begins with what it needs to go on from a checkpoint.
// Its context ends with ErrRecovering as its cause when recovery starts: a body that
// computes for long should look at it, else it is killed after a while.
//
// An error that a body returns while no process has failed is the end: Run
// returns it as a *BodyError on all ranks. While a failure is pending, what the
// body returns does not matter, and a panic is not recovered.
//
// Zones may follow one another; all ranks run the same ones in the same order.
// In a process that replaces one that failed in a later zone, Run returns at once, for
// those that had ended before, what it returned then.
func Run(ctx context.Context, body func(ctx context.Context, z *Zone) error, opts ...Option) error {
	o, err := newOptions(opts)
	if err != nil {
		return fmt.Errorf("aft: %w", err)
	}
	log := logqueue.New(o.logger)
	o.logger = log.Logger
	defer log.Flush(flushLimit)
	switch {
	case body == nil:
		return fmt.Errorf("aft: %w: the body is nil", ErrArgument)
	case o.inProcess:
		return runRanks(ctx, o, body)
	}
	s := comm.SessionOf(ctx)
	if s == nil {
		if s, err = engine.Join(ctx, o.logger); err != nil {
			return fmt.Errorf("aft: %w", err)
		}
	}
	if s.Place().Comm == nil {
		return fmt.Errorf("aft: %w: the session that the context carries belongs to no job", ErrArgument)
	}
	return runZone(ctx, s, o, body)
}

// flushLimit is how long Run waits for its messages to be written when all else is
// done.
const flushLimit = time.Second

// run is one call of Run on one rank.
type run struct {
	ctx     context.Context // of the caller
	session *comm.Session
	options options
	log     *slog.Logger
	stats   Stats
	// idle is the number of repairs in a row that no failed process was the
	// reason for. It is the same on all ranks.
	idle int
}

func runZone(ctx context.Context, s *comm.Session, o options, body func(context.Context, *Zone) error) error {
	index, alone := s.Zone().Enter()
	if !alone {
		return fmt.Errorf("aft: %w: Run was called while a zone runs: zones follow one another, and a rank that is a goroutine gives Run the context that it was given", ErrArgument)
	}
	defer s.Zone().Leave()
	place := s.Place()
	if place.Comm.Rank() == 0 {
		env.ReportUnknown(o.logger, os.Environ())
	}
	if index < place.Zone { // it had ended before this process was started
		return endedBefore(place, index)
	}
	policy := o.policy()
	s.Zone().Running(&policy)
	defer s.Zone().Running(nil)
	returned := false
	defer quitUnless(&returned, s)
	r := &run{ctx: ctx, session: s, options: o, log: o.logger.With("original", int(place.Original), "node", place.Node)}
	next := r.newEpochScope()
	var err error
	for next != nil && err == nil {
		next, err = r.attempt(next, body)
	}
	returned = true
	return err
}

// endedBefore is how a zone ended before this process was started.
func endedBefore(p comm.Place, index int) error {
	for _, e := range p.ZoneErrors {
		if e.First <= index && index <= e.Last {
			return &BodyError{Rank: comm.Rank(e.Rank), Text: e.Err}
		}
	}
	return nil
}

// quitUnless ends the process when its body has ended the goroutine by
// runtime.Goexit: it would be alive, and the others wait for it for ever.
func quitUnless(returned *bool, s *comm.Session) {
	if *returned {
		return
	}
	if v := recover(); v != nil {
		panic(v) // as it was
	}
	s.Zone().Quit("the body of the zone has called runtime.Goexit")
}
