package main

import (
	"context"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// job is what all ranks of this process share.
type job struct {
	config
	jobs    *jobs.Job
	screen  *screen
	workers []*worker // by original rank; one if each rank is a process
}

// worker is one rank. It lives longer than an attempt.
type worker struct {
	*job
	rank *jobs.Rank
}

func newJob(cfg config, screen *screen) *job {
	j := &job{config: cfg, jobs: jobs.NewJob(cfg.Loop, screen), screen: screen}
	for range cfg.Goroutines {
		j.workers = append(j.workers, &worker{job: j})
	}
	return j
}

// attempt is the body of the zone: it is called again when ranks were lost.
func (j *job) attempt(ctx context.Context, z *aft.Zone) error {
	w := j.workers[int(z.Original())%len(j.workers)]
	w.rank = j.jobs.Rank(z)
	return w.solve(ctx, z)
}
