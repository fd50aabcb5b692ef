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
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/examples/internal/dieonce"
)

// sweeper is what all ranks of this process share.
type sweeper struct {
	config
	stderr  io.Writer
	log     *slog.Logger
	workers []*worker // by original rank; one if each rank is a process
}

// worker is one rank. It lives longer than an attempt.
type worker struct {
	history *history
	rank    comm.Rank // in the last attempt; -1 before the first one
	result  result    // of the last attempt
}

func newSweeper(cfg config, stderr io.Writer, log *slog.Logger) *sweeper {
	s := &sweeper{config: cfg, stderr: stderr, log: log}
	for range cfg.ranks.Goroutines {
		s.workers = append(s.workers, &worker{history: newHistory(), rank: -1})
	}
	return s
}

// attempt is the body of the zone: it is called again when ranks were lost.
func (s *sweeper) attempt(ctx context.Context, z *aft.Zone) (err error) {
	w := s.workers[0]
	if len(s.workers) > 1 {
		w = s.workers[z.Original()]
	}
	w.rank = z.Comm().Rank()
	j := &job{config: s.config, zone: z, comm: z.Comm(), stderr: s.stderr, log: s.log, past: w.history}
	w.result, err = j.solve(ctx)
	return err
}

// end prints the result, or why there is none, and returns the exit code. When
// ranks are processes only one of them prints.
func (s *sweeper) end(err error, wall time.Duration, stdout io.Writer) int {
	var own *aft.BodyError
	switch {
	case errors.As(err, &own) && launch.IsRank() && own.Rank != s.workers[0].rank:
		return exitFailed // the rank whose error it is says so
	case err != nil:
		fmt.Fprintln(s.stderr, "nested:", err)
		return exitFailed
	}
	for _, w := range s.workers {
		if w.rank != 0 {
			continue
		}
		w.result.Seconds = wall.Seconds()
		w.result.Over(wall)
		if err := errors.Join(w.result.print(stdout, s.config), s.forget()); err != nil {
			fmt.Fprintln(s.stderr, "nested: write the result:", err)
			return exitFailed
		}
	}
	return exitDone
}

// forget is called when the job has ended: the next one may die again.
func (s *sweeper) forget() error {
	if s.dieAt == nowhere {
		return nil
	}
	return dieonce.Forget(s.marker())
}
