package embedded

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
)

// communicator is what a program has of a mailbox.
type communicator struct{ box *mailbox }

var (
	_ comm.Comm       = (*communicator)(nil)
	_ comm.Taker      = (*communicator)(nil)
	_ comm.Failing    = (*communicator)(nil)
	_ comm.Revoker    = (*communicator)(nil)
	_ comm.Agreer     = (*communicator)(nil)
	_ comm.Maker      = (*communicator)(nil)
	_ comm.Leased     = (*communicator)(nil)
	_ comm.Repairable = (*communicator)(nil)
)

func (c *communicator) Rank() comm.Rank { return c.box.owner }
func (c *communicator) Size() int       { return len(c.box.procs) }

func (c *communicator) Isend(dst comm.Rank, tag comm.Tag, data []byte) comm.Request {
	if err := comm.CheckSend(c, dst, tag); err != nil {
		return comm.FailedRequest(err)
	}
	b, to := c.box, c.box.procs[dst]
	if err := b.mayUse(dst); err != nil {
		return comm.FailedRequest(err)
	}
	if e := b.ep.near(to); e != nil {
		if to := e.box(b); to != nil {
			return b.orTakeBack(dst, to.send(b.owner, tag, data))
		}
		return comm.FailedRequest(comm.ErrRevoked) // it has been replaced there
	}
	r := &request{box: b, peer: dst}
	b.ep.wire.send(to, envelope{comm: b.id, source: b.owner, tag: tag, length: len(data)}, data, r)
	return b.orTakeBack(dst, r)
}

// orTakeBack ends a send that waits for a rank whose body has returned.
func (b *mailbox) orTakeBack(dst comm.Rank, send comm.Request) comm.Request {
	r, waits := send.(*request)
	if !waits || r.done() {
		return send
	}
	b.ep.mu.Lock()
	away := b.ep.away[b.procs[dst]]
	b.ep.mu.Unlock()
	if away {
		r.box.withdraw(r, errLeft(dst))
	}
	return send
}

func (c *communicator) Irecv(src comm.Rank, tag comm.Tag, buf []byte) comm.Request {
	if err := comm.CheckRecv(c, src, tag); err != nil {
		return comm.FailedRequest(err)
	}
	return c.box.receive(src, tag, buf)
}

// Itake is Irecv for what is used where it has arrived.
func (c *communicator) Itake(src comm.Rank, tag comm.Tag, n int, take func(piece []byte)) comm.Request {
	if err := comm.CheckRecv(c, src, tag); err != nil {
		return comm.FailedRequest(err)
	}
	return c.box.post(receive{source: src, tag: tag, take: take, limit: n})
}

// mayUse is why nothing can be sent to rank dst, or nil.
func (b *mailbox) mayUse(dst comm.Rank) error {
	b.ep.mu.Lock()
	defer b.ep.mu.Unlock()
	switch {
	case b.dead():
		return b.deadError()
	case b.lost[dst] != 0:
		return &comm.FailedError{Ranks: []comm.Rank{dst}}
	}
	return nil
}

// Failed are the ranks known to have failed.
func (c *communicator) Failed() []comm.Rank {
	c.box.ep.mu.Lock()
	defer c.box.ep.mu.Unlock()
	return c.box.ranks(func(r int) bool { return c.box.lost[r] == failed })
}

// Acknowledge accepts all failures known so far.
func (c *communicator) Acknowledge() []comm.Rank {
	b := c.box
	b.ep.mu.Lock()
	defer b.ep.mu.Unlock()
	for r, how := range b.lost {
		b.accepted[r] = how == failed
	}
	return b.ranks(func(r int) bool { return b.accepted[r] })
}

func (b *mailbox) ranks(is func(r int) bool) []comm.Rank {
	var out []comm.Rank
	for r := range b.procs {
		if is(r) {
			out = append(out, comm.Rank(r))
		}
	}
	return out
}

// Lease is nil while this process cannot have been declared dead.
func (c *communicator) Lease() error {
	if c.box.ep.lease == nil {
		return nil
	}
	return c.box.ep.lease()
}

// OnRepair registers f with the process: it is called whatever communicator of
// the job it was registered with.
func (c *communicator) OnRepair(f func(ctx context.Context) error) (remove func()) {
	return c.box.ep.hooks.Add(f)
}
