package container

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// pipeline runs an encoding's workers and its writer. Both channels have room
// for all jobs, so that sending never blocks; what bounds the work ahead of the
// writer is the number of jobs and buffers.
type pipeline struct {
	parent  context.Context
	group   *errgroup.Group // a member's error ends the context of the encoding
	work    chan *job       // chunks to be run, in any order
	ordered chan *job       // everything, in the order of the file
}

// start makes the rest of the encoding parallel.
func (r *encoding) start() {
	p := &pipeline{
		parent:  r.ctx,
		work:    make(chan *job, len(r.jobs)),
		ordered: make(chan *job, len(r.jobs)),
	}
	p.group, r.ctx = errgroup.WithContext(r.ctx)
	for len(r.packers) < r.opts.Workers {
		r.packers = append(r.packers, new(compressor))
	}
	r.pipe = p
	for _, c := range r.packers {
		p.group.Go(inside(r.opts.Around, func() error {
			for j := range p.work {
				if r.ctx.Err() == nil {
					j.run(c, r.opts.Compression)
				}
				j.done <- struct{}{}
			}
			return nil
		}))
	}
	p.group.Go(inside(r.opts.Around, func() error {
		for j := range p.ordered {
			if j.single {
				<-j.done
			}
			if err := r.emit(j); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (p *pipeline) send(j *job) {
	if j.single {
		p.work <- j
	}
	p.ordered <- j
}

// stop waits for the goroutines to finish what was sent, or to give up if there
// is an error, and returns the error that came first.
func (r *encoding) stop(err error) error {
	if p := r.pipe; p != nil {
		r.pipe = nil
		close(p.work)
		close(p.ordered)
		if failed := err; failed != nil {
			p.group.Go(func() error { return failed })
		}
		err = p.group.Wait()
		r.ctx = p.parent
	}
	if errors.Is(err, errStopped) && r.ctx.Err() != nil {
		err = r.ctx.Err()
	}
	return err
}

// acquire takes something that is shared with the writer.
func acquire[T any](ctx context.Context, from <-chan T) (T, error) {
	select {
	case x := <-from:
		return x, nil
	case <-ctx.Done():
		var none T
		return none, errStopped
	}
}
