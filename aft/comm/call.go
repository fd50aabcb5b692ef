package comm

import (
	"context"
	"fmt"
)

// call is one rank's part in a collective or a recovery step. Each of them begins with
// begin and ends with end, here and nowhere else: where it is told to observers, where a
// rank whose own arguments are wrong takes part all the same so that nobody waits for it,
// and where its errors get their name.
type call struct {
	ctx context.Context
	c   *Comm
	op  string
	tag Tag
	// bad is what is wrong with this rank's own arguments: it refuses, in the place of
	// its data, and the others notice.
	bad error
	// over tells the observer; nil: there is none.
	over func(error)
}

// begin starts a part in op.
func (c *Comm) begin(ctx context.Context, op string, tag Tag) call {
	k := call{ctx: ctx, c: c, op: op, tag: tag}
	if o := c.session.observer.Load(); o != nil && o.Collective != nil {
		k.over = o.Collective(Collective{Comm: c, Op: op, Step: c.session.step.Load()})
	}
	return k
}

// end is what a call returns whose exchange has ended with err.
func (k *call) end(err error) error {
	if k.bad != nil && (err == nil || isLength(err)) {
		err = k.bad
	}
	if err != nil {
		err = k.named(err)
	}
	if k.over != nil {
		k.over(err)
	}
	return err
}

// named says in an error what has failed, and on which communicator.
func (k *call) named(err error) error {
	if k.c.name != "" {
		return fmt.Errorf("%s on communicator %q: %w", k.op, k.c.name, err)
	}
	return fmt.Errorf("%s: %w", k.op, err)
}

func (k *call) refuses() bool { return k.bad != nil }

// misfit notes what is wrong with this rank's own arguments.
func (k *call) misfit(format string, args ...any) { k.bad = errArgument(format, args...) }

func (k *call) isend(dst Rank, data []byte) Request { return k.c.isend(dst, k.tag, data) }
func (k *call) irecv(src Rank, buf []byte) Request  { return k.c.irecv(src, k.tag, buf) }

// exchange sends and receives at the same time.
func (k *call) exchange(dst Rank, data []byte, src Rank, buf []byte) (Status, error) {
	in := k.irecv(src, buf)
	out := k.isend(dst, data)
	return finish(k.ctx, in, out)
}
