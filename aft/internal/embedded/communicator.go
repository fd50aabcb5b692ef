package embedded

import (
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

// communicator is what a program has of a mailbox: package driver says what its methods do.
type communicator struct{ box *mailbox }

var (
	_ driver.Comm     = (*communicator)(nil)
	_ driver.Taker    = (*communicator)(nil)
	_ driver.Vectored = (*communicator)(nil)
	_ driver.Failing  = (*communicator)(nil)
	_ driver.Revoker  = (*communicator)(nil)
	_ driver.Agreer   = (*communicator)(nil)
	_ driver.Maker    = (*communicator)(nil)
	_ driver.Leased   = (*communicator)(nil)
	_ driver.Freer    = (*communicator)(nil)
	_ driver.Located  = (*communicator)(nil)
	_ driver.Meeter   = (*communicator)(nil)
)

func (c *communicator) Rank() int { return c.box.owner }
func (c *communicator) Size() int { return len(c.box.procs) }

// Nodes are those of the ranks, if somebody has named the job's nodes.
func (c *communicator) Nodes() []int { return slices.Clone(c.box.nodes) }

func (c *communicator) Isend(dst int, tag int, data []byte) driver.Request {
	return c.send(dst, tag, pieces{first: data})
}

func (c *communicator) Isendv(dst int, tag int, list [][]byte) driver.Request {
	return c.send(dst, tag, newPieces(list))
}

func (c *communicator) send(dst int, tag int, data pieces) driver.Request {
	b, to := c.box, c.box.procs[dst]
	if err := b.mayUse(dst); err != nil {
		return driver.FailedRequest(err)
	}
	if e := b.ep.near(to); e != nil {
		to, freed := e.box(b)
		switch {
		case to != nil:
			if r := to.send(b.owner, tag, data); r != nil {
				return b.started(dst, r)
			}
			return endedSend{b, dst}
		case freed:
			return sentRequest{}
		}
		return driver.FailedRequest(driver.ErrRevoked) // it has been replaced there
	}
	if b.ep.wire == nil {
		return endedSend{b, dst}
	}
	r := &request{box: b, peer: dst}
	b.ep.wire.send(to, envelope{comm: b.id, source: b.owner, tag: tag, length: data.length()}, data, r)
	return b.started(dst, r)
}

// started looks again, when a send that waits has begun, whether it may: the communicator was
// ended meanwhile, with what it had begun before, or the receiver's body has returned.
func (b *mailbox) started(dst int, send driver.Request) driver.Request {
	r, waits := send.(*request)
	if !waits {
		return send
	}
	r.from = b
	if r.done() {
		return send
	}
	b.ep.mu.Lock()
	err := b.deadError()
	if err == nil && b.isAway(dst) {
		err = errLeft(dst)
	}
	b.ep.mu.Unlock()
	if err != nil {
		r.box.withdraw(r, err)
	}
	return send
}

func (c *communicator) Irecv(src int, tag int, buf []byte) driver.Request {
	return c.box.receive(src, tag, buf)
}

func (c *communicator) Itake(src int, tag int, n int, take func(piece []byte)) driver.Request {
	return c.box.post(receive{source: src, tag: tag, take: take, limit: n})
}

// mayUse is why nothing can be sent to rank dst, or nil.
func (b *mailbox) mayUse(dst int) error {
	b.ep.mu.Lock()
	defer b.ep.mu.Unlock()
	if b.lost[dst] != 0 && !b.dead() {
		return errFailed(dst)
	}
	return b.deadError()
}

func (c *communicator) Failed() []int {
	c.box.ep.mu.Lock()
	defer c.box.ep.mu.Unlock()
	return c.box.ranks(func(r int) bool { return c.box.lost[r] == failed })
}

func (c *communicator) Acknowledge() []int {
	b := c.box
	b.ep.mu.Lock()
	defer b.ep.mu.Unlock()
	for r, how := range b.lost {
		b.accepted[r] = how == failed
	}
	return b.ranks(func(r int) bool { return b.accepted[r] })
}

func (b *mailbox) ranks(is func(r int) bool) []int {
	var out []int
	for r := range b.procs {
		if is(r) {
			out = append(out, r)
		}
	}
	return out
}

func (c *communicator) Lease() error {
	if c.box.ep.lease == nil {
		return nil
	}
	return c.box.ep.lease()
}

// FailureKnown has the lock so that who has just learned of a failure on another communicator finds it known here.
func (c *communicator) FailureKnown() <-chan struct{} {
	c.box.ep.mu.Lock()
	defer c.box.ep.mu.Unlock()
	return c.box.failure
}
