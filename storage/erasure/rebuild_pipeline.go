package erasure

import (
	"context"
	"sync"
)

const (
	// pipelineBytes is about how much memory the stripes of a pipeline take, as
	// far as there are enough and not too many of them.
	pipelineBytes = 16 << 20
	fewestJobs    = 3
	mostJobs      = 16
	decoders      = 2
)

// pipeline rebuilds several stripes at once.
//
//	plan ──> feeders, one for each source, in order ──> decoders ──┐
//	  └────────────────────── order of the stripes ────────────────┴──> write
//
// Each source is read by one goroutine from its beginning to its end, which is
// what disks, and readers that fetch ahead, do best. Jobs go round: their number
// bounds the memory and how far reading is ahead of writing, and no channel can
// be full.
type pipeline struct {
	r     *rebuild
	free  chan *job
	order chan *job
	work  chan *job
	feeds []chan *job // by member
	all   sync.WaitGroup
}

// pipe rebuilds all blocks of the lost part and has them written, in order.
func (r *rebuild) pipe(ctx context.Context, write func(block []byte) error) error {
	inner, cancel := context.WithCancel(ctx)
	p := r.newPipeline()
	defer p.all.Wait()
	defer cancel()
	p.all.Go(func() { p.plan(inner) })
	for member, feed := range p.feeds {
		p.all.Go(func() { p.feed(inner, member, feed) })
	}
	for range decoders {
		p.all.Go(func() { p.decode(inner) })
	}
	var first error
	for j := range p.order {
		err := <-j.done
		if first == nil && err == nil {
			err = write(j.blocks[r.lost])
		}
		if first == nil && err != nil {
			first = err
			cancel()
		}
		p.free <- j
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return first
}

func (r *rebuild) newPipeline() *pipeline {
	n := min(max(pipelineBytes/(len(r.sources)*r.plan.Block), fewestJobs), mostJobs)
	p := &pipeline{r: r, free: make(chan *job, n), order: make(chan *job, n), work: make(chan *job, n)}
	for range r.sources {
		p.feeds = append(p.feeds, make(chan *job, n))
	}
	for range n {
		p.free <- r.newJob()
	}
	return p
}

// plan gives a job to each stripe of which something is wanted.
func (p *pipeline) plan(ctx context.Context) {
	defer close(p.order)
	defer close(p.work)
	defer func() {
		for _, feed := range p.feeds {
			close(feed)
		}
	}()
	for stripe, n := range p.r.plan.All() {
		var j *job
		select {
		case j = <-p.free:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		wanted, err := j.begin(stripe, n)
		switch {
		case err != nil:
			j.done <- err
			p.order <- j
			return
		case !wanted:
			p.free <- j
			continue
		}
		j.reading.Add(len(j.inputs))
		for _, member := range j.inputs {
			p.feeds[member] <- j
		}
		p.work <- j
		p.order <- j
	}
}

// feed reads the blocks of one member.
func (p *pipeline) feed(ctx context.Context, member int, jobs chan *job) {
	for j := range jobs {
		if ctx.Err() == nil {
			j.read(member)
		}
		j.reading.Done()
	}
}

func (p *pipeline) decode(ctx context.Context) {
	for j := range p.work {
		j.reading.Wait()
		j.done <- j.decode(ctx)
	}
}
