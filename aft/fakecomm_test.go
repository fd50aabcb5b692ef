package aft_test

import (
	"context"
	"runtime"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

// fakeComm is a rank's view of a fakeWorld. Messages are copied when they are
// sent and matched when they are waited for.
type fakeComm struct {
	s     *fakeSession
	world *fakeWorld
	rank  int
}

var (
	_ driver.Failing = (*fakeComm)(nil)
	_ driver.Revoker = (*fakeComm)(nil)
	_ driver.Leased  = (*fakeComm)(nil)
)

func (c *fakeComm) Rank() int          { return c.rank }
func (c *fakeComm) Size() int          { return len(c.world.originals) }
func (c *fakeComm) Acknowledge() []int { return c.Failed() }

func (c *fakeComm) FailureKnown() <-chan struct{} { return c.world.failure }

func (c *fakeComm) Lease() error {
	c.s.job.mu.Lock()
	defer c.s.job.mu.Unlock()
	if c.world.dead[c.rank] {
		return driver.ErrFenced
	}
	return nil
}

func (c *fakeComm) Failed() (out []int) {
	c.s.job.mu.Lock()
	defer c.s.job.mu.Unlock()
	for r, dead := range c.world.dead {
		if dead {
			out = append(out, r)
		}
	}
	return out
}

func (c *fakeComm) Revoke() {
	c.s.job.mu.Lock()
	defer c.s.job.mu.Unlock()
	if !c.isRevoked() {
		close(c.world.revoked)
		c.s.job.changed.Broadcast()
	}
}

func (c *fakeComm) Revoked() <-chan struct{} { return c.world.revoked }

func (c *fakeComm) isRevoked() bool {
	select {
	case <-c.world.revoked:
		return true
	default:
		return false
	}
}

func (c *fakeComm) Isend(dst, tag int, data []byte) driver.Request {
	c.s.alive()
	defer c.s.job.mu.Unlock()
	switch {
	case c.isRevoked():
		return driver.FailedRequest(driver.ErrRevoked)
	case c.world.dead[dst]:
		return driver.FailedRequest(&driver.FailedError{Ranks: []int{dst}})
	}
	c.world.boxes[dst] = append(c.world.boxes[dst], fakeMessage{c.rank, tag, slices.Clone(data)})
	c.s.job.changed.Broadcast()
	return fakeSent{}
}

type fakeSent struct{}

func (fakeSent) Wait(context.Context) (driver.Status, error) { return driver.Status{}, nil }

func (c *fakeComm) Irecv(src, tag int, buf []byte) driver.Request {
	return &fakeReceive{c, src, tag, buf}
}

type fakeReceive struct {
	c   *fakeComm
	src int
	tag int
	buf []byte
}

func (r *fakeReceive) Wait(ctx context.Context) (driver.Status, error) {
	c, j := r.c, r.c.s.job
	defer context.AfterFunc(ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.changed.Broadcast()
	})()
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		if c.world.dead[c.rank] {
			j.mu.Unlock()
			defer j.mu.Lock()
			runtime.Goexit()
		}
		if c.isRevoked() {
			return driver.Status{}, driver.ErrRevoked
		}
		if status, err, ok := r.match(); ok {
			return status, err
		}
		if r.src >= 0 && c.world.dead[r.src] || r.src < 0 && slices.Contains(c.world.dead, true) {
			return driver.Status{}, &driver.FailedError{Ranks: []int{max(r.src, 0)}}
		}
		if ctx.Err() != nil {
			return driver.Status{}, driver.Withdrawn(ctx)
		}
		j.changed.Wait()
	}
}

func (r *fakeReceive) match() (driver.Status, error, bool) {
	box := &r.c.world.boxes[r.c.rank]
	for i, m := range *box {
		if (r.src != driver.AnySource && m.source != r.src) || !driver.Matches(m.tag, r.tag) {
			continue
		}
		*box = slices.Delete(*box, i, i+1)
		status := driver.Status{Source: m.source, Tag: m.tag, Bytes: len(m.data)}
		if len(m.data) > len(r.buf) {
			return status, &driver.TruncatedError{Status: status, Buffer: len(r.buf)}, true
		}
		copy(r.buf, m.data)
		return status, nil, true
	}
	return driver.Status{}, nil, false
}
