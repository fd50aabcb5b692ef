package embedded

import (
	"fmt"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
)

// world is the ranks of one job in this process.
type world struct {
	boxes []*mailbox
}

func newWorld(ranks int) *world {
	w := &world{boxes: make([]*mailbox, ranks)}
	for r := range w.boxes {
		w.boxes[r] = newMailbox(comm.Rank(r), ranks)
	}
	return w
}

// leave tells everybody that the rank's body has returned.
func (w *world) leave(c *communicator) {
	c.left.Store(true)
	w.boxes[c.rank].close()
	for r, box := range w.boxes {
		if comm.Rank(r) != c.rank {
			box.lose(c.rank)
		}
	}
}

// communicator is one rank's view of the world.
type communicator struct {
	world *world
	rank  comm.Rank
	left  atomic.Bool
}

var _ comm.Comm = (*communicator)(nil)

func (c *communicator) Rank() comm.Rank { return c.rank }
func (c *communicator) Size() int       { return len(c.world.boxes) }

func (c *communicator) Isend(dst comm.Rank, tag comm.Tag, data []byte) comm.Request {
	if err := comm.CheckSend(c, dst, tag); err != nil {
		return comm.FailedRequest(err)
	}
	if c.left.Load() {
		return comm.FailedRequest(errLeft(c.rank))
	}
	return c.world.boxes[dst].send(c.rank, tag, data)
}

func (c *communicator) Irecv(src comm.Rank, tag comm.Tag, buf []byte) comm.Request {
	if err := comm.CheckRecv(c, src, tag); err != nil {
		return comm.FailedRequest(err)
	}
	return c.world.boxes[c.rank].receive(src, tag, buf)
}

func errLeft(rank comm.Rank) error {
	return fmt.Errorf("%w: the body of rank %d has returned", comm.ErrClosed, rank)
}
