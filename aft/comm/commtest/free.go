package commtest

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
)

// freed: communicators that ranks free at different times, some without having received what
// is sent to them. No sender waits for those, and what others receive is whole.
func freed(ctx context.Context, c *comm.Comm) error {
	lengths := messageLengths(c)
	for round := range 60 {
		if d, err := c.Dup(ctx); errors.Is(err, comm.ErrUnsupported) {
			return nil
		} else if err != nil {
			return err
		} else if err := freedAt(ctx, d, comm.Rank(round), lengths[round%len(lengths)]); err != nil {
			return err
		}
	}
	return works(ctx, c)
}

// freedAt is one round: of three ranks the first receives, the second frees d while it does,
// and the third at once.
func freedAt(ctx context.Context, d *comm.Comm, round comm.Rank, length int) error {
	defer d.Free()
	part := func(r comm.Rank) comm.Rank { return (r + round) % 3 }
	if part(d.Rank()) == 2 {
		return nil
	}
	buf := make([]byte, length)
	send := comm.Isend(d, right(d), 1, pattern(d.Rank(), 1, length))
	var recv comm.Request
	sent := part(left(d)) != 2
	if sent {
		recv = comm.Irecv(d, left(d), 1, buf)
	}
	_, err := send.Wait(ctx)
	if part(d.Rank()) == 1 {
		d.Free()
	}
	if !sent {
		return err
	}
	_, other := recv.Wait(ctx)
	if part(d.Rank()) == 1 && errors.Is(other, comm.ErrClosed) {
		return err
	}
	return first(err, other, equalSlices("data", buf, pattern(left(d), 1, length)))
}
