package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/kmeans/dataset"
)

// job is what all ranks of this process share.
type job struct {
	config
	stderr  io.Writer
	log     *slog.Logger
	source  func() (dataset.Source, error)
	die     func(pid int) error
	began   time.Time
	parent  int       // the process that has started this one
	workers []*worker // by original rank; one if each rank is a process
}

// worker is one rank. It lives longer than an attempt: what it has in memory survives the
// failure of others.
type worker struct {
	*job
	rank comm.Rank // in the last attempt; -1 before the first one

	state   state
	input   input
	points  points
	saved   []float64 // centres, in the checkpoint
	restore restoreTimes
	counts  counts

	result result // of the last attempt, on rank 0
}

func newJob(cfg config, stderr io.Writer, log *slog.Logger) *job {
	j := &job{config: cfg, stderr: stderr, log: log, die: jobs.DieWith, began: time.Now(), parent: os.Getppid()}
	j.source = sync.OnceValues(func() (dataset.Source, error) {
		if cfg.file == "" {
			return cfg.generated, nil
		}
		return dataset.Open(cfg.file)
	})
	for range cfg.Goroutines {
		j.workers = append(j.workers, &worker{job: j, rank: -1, state: state{next: unknown}})
	}
	return j
}

// attempt is the body of the zone: it is called again when ranks were lost.
func (j *job) attempt(ctx context.Context, z *aft.Zone) error {
	w := j.workers[int(z.Original())%len(j.workers)]
	w.rank, w.result = z.Comm().Rank(), result{}
	return w.solve(ctx, z)
}

// end prints the result, or why there is none, and returns the exit code. When
// ranks are processes only one of them prints.
func (j *job) end(err error, wall time.Duration, stdout io.Writer) int {
	if err != nil {
		return j.Failed(err, j.workers[0].rank, j.stderr)
	}
	for _, w := range j.workers {
		if w.rank != 0 {
			continue
		}
		w.result.over(wall)
		if err := errors.Join(w.result.print(stdout, j.config), j.draw(w.result)); err != nil {
			fmt.Fprintln(j.stderr, "kmeans: write the result:", err)
			return jobs.ExitFailed
		}
	}
	return jobs.ExitDone
}
