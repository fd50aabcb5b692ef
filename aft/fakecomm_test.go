package aft_test

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// fakeComm is a rank's view of a fakeWorld. Messages are copied when they are
// sent and matched when they are waited for.
type fakeComm struct {
	s     *fakeSession
	world *fakeWorld
	rank  comm.Rank
}

var (
	_ comm.Failing    = (*fakeComm)(nil)
	_ comm.Revoker    = (*fakeComm)(nil)
	_ comm.Repairable = (*fakeComm)(nil)
	_ comm.Leased     = (*fakeComm)(nil)
	_ comm.Named      = (*fakeComm)(nil)
	_ comm.Recoverer  = (*fakeComm)(nil)
)

func (c *fakeComm) Rank() comm.Rank          { return c.rank }
func (c *fakeComm) Size() int                { return len(c.world.originals) }
func (c *fakeComm) JobName() string          { return c.s.job.name }
func (c *fakeComm) Acknowledge() []comm.Rank { return c.Failed() }

func (c *fakeComm) Recovered() (int, time.Duration) { return c.world.epoch, c.s.rec }

func (c *fakeComm) OnRepair(f func(context.Context) error) (remove func()) {
	h := &fakeHook{f}
	c.s.hooks = append(c.s.hooks, h)
	return func() {
		c.s.hooks = slices.DeleteFunc(c.s.hooks, func(o *fakeHook) bool { return o == h })
	}
}

func (c *fakeComm) Lease() error {
	c.s.job.mu.Lock()
	defer c.s.job.mu.Unlock()
	if c.world.dead[c.rank] {
		return comm.ErrFenced
	}
	return nil
}

func (c *fakeComm) Failed() (out []comm.Rank) {
	c.s.job.mu.Lock()
	defer c.s.job.mu.Unlock()
	for r, dead := range c.world.dead {
		if dead {
			out = append(out, comm.Rank(r))
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

func (c *fakeComm) Isend(dst comm.Rank, tag comm.Tag, data []byte) comm.Request {
	if err := comm.CheckSend(c, dst, tag); err != nil {
		return comm.FailedRequest(err)
	}
	c.s.alive()
	defer c.s.job.mu.Unlock()
	switch {
	case c.isRevoked():
		return comm.FailedRequest(comm.ErrRevoked)
	case c.world.dead[dst]:
		return comm.FailedRequest(&comm.FailedError{Ranks: []comm.Rank{dst}})
	}
	c.world.boxes[dst] = append(c.world.boxes[dst], fakeMessage{c.rank, tag, slices.Clone(data)})
	c.s.job.changed.Broadcast()
	return fakeSent{}
}

type fakeSent struct{}

func (fakeSent) Wait(context.Context) (comm.Status, error) { return comm.Status{}, nil }

func (c *fakeComm) Irecv(src comm.Rank, tag comm.Tag, buf []byte) comm.Request {
	if err := comm.CheckRecv(c, src, tag); err != nil {
		return comm.FailedRequest(err)
	}
	return &fakeReceive{c, src, tag, buf}
}

type fakeReceive struct {
	c   *fakeComm
	src comm.Rank
	tag comm.Tag
	buf []byte
}

func (r *fakeReceive) Wait(ctx context.Context) (comm.Status, error) {
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
			return comm.Status{}, comm.ErrRevoked
		}
		if status, err, ok := r.match(); ok {
			return status, err
		}
		if r.src >= 0 && c.world.dead[r.src] || r.src < 0 && slices.Contains(c.world.dead, true) {
			return comm.Status{}, &comm.FailedError{Ranks: []comm.Rank{max(r.src, 0)}}
		}
		if ctx.Err() != nil {
			return comm.Status{}, comm.Withdrawn(ctx)
		}
		j.changed.Wait()
	}
}

func (r *fakeReceive) match() (comm.Status, error, bool) {
	box := &r.c.world.boxes[r.c.rank]
	for i, m := range *box {
		if (r.src != comm.AnySource && m.source != r.src) || !m.tag.Matches(r.tag) {
			continue
		}
		*box = slices.Delete(*box, i, i+1)
		status := comm.Status{Source: m.source, Tag: m.tag, Bytes: len(m.data)}
		if len(m.data) > len(r.buf) {
			return status, &comm.TruncatedError{Status: status, Buffer: len(r.buf)}, true
		}
		copy(r.buf, m.data)
		return status, nil, true
	}
	return comm.Status{}, nil, false
}
