package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// sweeper is what all ranks of this process share.
type sweeper struct {
	config
	stderr  io.Writer
	log     *slog.Logger
	began   time.Time
	workers []*worker // by original rank; one if each rank is a process
}

// worker is one rank. It lives longer than an attempt.
type worker struct {
	rank   comm.Rank // in the last attempt; -1 before the first one
	result result    // of the last attempt

	history            jobs.History
	restartedFrom      jobs.Start       // first point
	innerRestartedFrom jobs.Start       // first iteration of that point, if it was taken up
	ofSweep, ofInner   checkpoint.Stats // in all attempts that have ended
}

func newSweeper(cfg config, stderr io.Writer, log *slog.Logger) *sweeper {
	s := &sweeper{config: cfg, stderr: stderr, log: log, began: time.Now()}
	for range cfg.Goroutines {
		s.workers = append(s.workers, &worker{rank: -1, restartedFrom: jobs.Unknown, innerRestartedFrom: jobs.Unknown})
	}
	return s
}

// attempt is the body of the zone: it is called again when ranks were lost.
func (s *sweeper) attempt(ctx context.Context, z *aft.Zone) (err error) {
	w := s.workers[int(z.Original())%len(s.workers)]
	w.rank = z.Comm().Rank()
	j := &job{sweeper: s, worker: w, zone: z, comm: z.Comm()}
	w.result, err = j.solve(ctx)
	return err
}

// end prints the result, or why there is none, and returns the exit code. When
// ranks are processes only one of them prints.
func (s *sweeper) end(err error, wall time.Duration, stdout io.Writer) int {
	if err != nil {
		return s.Failed(err, s.workers[0].rank, s.stderr)
	}
	for _, w := range s.workers {
		if w.rank != 0 {
			continue
		}
		w.result.Seconds = w.result.Over(wall)
		if err := errors.Join(w.result.print(stdout, s.config), s.forget()); err != nil {
			fmt.Fprintln(s.stderr, "nested: write the result:", err)
			return jobs.ExitFailed
		}
	}
	return jobs.ExitDone
}

// forget is called when the job has ended: the next one may die again.
func (s *sweeper) forget() error {
	if s.dieAt == nowhere {
		return nil
	}
	return jobs.ForgetDeath(s.marker())
}
