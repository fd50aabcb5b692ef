package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// job is what all ranks of this process share.
type job struct {
	config
	screen    *screen
	log       *slog.Logger
	interrupt *interrupt
	began     time.Time
	parent    int       // the process that has started this one
	workers   []*worker // by original rank; one if each rank is a process
}

// worker is one rank. It lives longer than an attempt.
type worker struct {
	*job
	rank comm.Rank // in the last attempt; -1 before the first one

	history       jobs.History
	restartedFrom jobs.Start
	earlier       checkpoint.Stats // of earlier attempts

	// What the last attempt has come to:
	result  result            // on rank 0
	stopped *interruptedError // if it was interrupted
}

func newJob(cfg config, screen *screen, log *slog.Logger) *job {
	j := &job{config: cfg, screen: screen, log: log, interrupt: newInterrupt(), began: time.Now(), parent: os.Getppid()}
	for range cfg.Goroutines {
		j.workers = append(j.workers, &worker{job: j, rank: -1, restartedFrom: jobs.Unknown})
	}
	if launch.IsRank() {
		// From the beginning: a rank that dies of the signal would be replaced.
		j.interrupt.arm()
	}
	return j
}

// attempt is the body of the zone: it is called again when ranks were lost.
func (j *job) attempt(ctx context.Context, z *aft.Zone) error {
	w := j.workers[int(z.Original())%len(j.workers)]
	w.rank, w.result, w.stopped = z.Comm().Rank(), result{}, nil
	return w.solve(ctx, z)
}
