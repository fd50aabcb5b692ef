package levels

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// job is one rank's part.
type job struct {
	config
	result *result
	print  bool
	watch  *watch
	log    *slog.Logger

	c     *comm.Comm
	data  *data
	nodes nodes

	own, others []byte // of sent
}

func newJob(c config) *job {
	j := &job{config: c, result: &result{}, watch: newWatch()}
	j.log = slog.New(j.watch)
	return j
}

func (j *job) body(ctx context.Context, z *aft.Zone) error {
	j.c = z.Comm()
	j.print = j.c.Rank() == 0
	j.data = newData(j.ownSize(), uint64(j.c.Rank())+1)
	var err error
	if j.nodes, err = findNodes(j.c, j.nodePath); err != nil {
		return err
	}
	if err := j.enoughNodes(); err != nil {
		return err
	}
	j.result.describe(j)
	if j.what != "restarts" {
		if err := errors.Join(j.writes(ctx), j.clean(ctx)); err != nil {
			return err
		}
	}
	if j.what != "writes" {
		if err := errors.Join(j.restarts(ctx), j.clean(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// ownSize is how much this rank has: with -uneven the first one least, the last
// one most.
func (j *job) ownSize() int64 {
	n := float64(j.size)
	if p := j.c.Size(); p > 1 {
		n *= 1 + j.uneven*(2*float64(j.c.Rank())/float64(p-1)-1)
	}
	return max(int64(n)/8*8, 8)
}

// timed measures what the slowest rank takes.
func (j *job) timed(ctx context.Context, f func() error) (time.Duration, error) {
	if err := comm.Barrier(ctx, j.c); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return 0, err
	}
	return j.slowest(ctx, time.Since(began))
}

func (j *job) slowest(ctx context.Context, mine time.Duration) (time.Duration, error) {
	all, err := comm.AllreduceOne(ctx, j.c, int64(mine), comm.Max[int64])
	return time.Duration(all), err
}
