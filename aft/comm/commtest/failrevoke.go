package commtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// interruptions are operations that cannot end while rank 0 takes no part.
var interruptions = []trial{
	{"receive", 2, func(ctx context.Context, c *comm.Comm) error {
		_, _, err := comm.Recv(ctx, c, 0, never, make([]byte, 1))
		return err
	}},
	{"large send", 2, func(ctx context.Context, c *comm.Comm) error {
		return comm.Send(ctx, c, 0, never, make([]byte, large))
	}},
	{"large send of pieces", 2, func(ctx context.Context, c *comm.Comm) error {
		_, err := inPieces(c, 0, never, make([]byte, large)).Wait(ctx)
		return err
	}},
	{"receive from any source", 2, func(ctx context.Context, c *comm.Comm) error {
		_, err := anyByte(ctx, c, never)
		return err
	}},
	{"exchange", 2, func(ctx context.Context, c *comm.Comm) error {
		_, _, err := comm.Sendrecv(ctx, c, 0, never, make([]byte, large), 0, never, make([]byte, large))
		return err
	}},
	{"messages without end", 2, func(ctx context.Context, c *comm.Comm) error {
		for ctx.Err() == nil {
			if err := comm.Send(ctx, c, 0, never, make([]byte, eager)); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	}},
	{"dup", 2, func(ctx context.Context, c *comm.Comm) error {
		_, err := c.Dup(ctx)
		return err
	}},
	{"split", 2, func(ctx context.Context, c *comm.Comm) error {
		_, err := c.Split(ctx, int(c.Rank())%2, 0)
		return err
	}},
}

func failRevokeTrials() []faultTrial {
	trials := []faultTrial{
		{"revoke/all that comes after", fromOne, revokeAfter},
		{"revoke/other communicators", fromOne, revokeOthers},
		{"revoke/all at once", fromOne, revokeTogether},
		{"revoke/revoker dies", fromTwo, revokerDies},
		{"revoke/agreement and shrink go on", fromTwo, revokeGoesOn},
		{"revoke/while ranks die", fromTwo, revokeWhileDying},
	}
	for _, tr := range slices.Concat(interruptions, collectiveTrials) {
		trials = append(trials, faultTrial{"revoke/interrupts/" + tr.name, []int{2, 4, 8}, func(ctx context.Context, p *player) error {
			return p.interrupt(ctx, tr.call)
		}})
	}
	return trials
}

// interrupt revokes while all but rank 0 are in an operation (or just before).
func (p *player) interrupt(ctx context.Context, call func(context.Context, *comm.Comm) error) error {
	c := must(p.c.Dup(ctx))
	if c.Rank() == 0 {
		time.Sleep(soon(p.own)) // any moment will do
		check(c.Revoke())
	}
	var err error
	for err == nil && ctx.Err() == nil {
		err = call(ctx, c)
	}
	check(
		wants(comm.ErrRevoked, "operation under way", err),
		p.allRevoked(ctx, c),
		works(ctx, p.c))
	return p.isMadeOf(ctx, must(c.Shrink(ctx)), others(c))
}

// allRevoked: nothing can be done on c any more.
func (p *player) allRevoked(ctx context.Context, c *comm.Comm) error {
	select {
	case <-c.Revoked():
	case <-ctx.Done():
		return fmt.Errorf("channel of Revoked is not closed: %w", context.Cause(ctx))
	}
	v := make([]byte, 1)
	recv := func(src comm.Rank, tag comm.Tag) error {
		_, _, err := comm.Recv(ctx, c, src, tag, v)
		return err
	}
	_, piecesErr := comm.Isendv(c, right(c), 1, v, v).Wait(ctx)
	_, dupErr := c.Dup(ctx)
	_, splitErr := c.Split(ctx, -1, 0)
	errs := []error{
		wants(comm.ErrRevoked, "send", comm.Send(ctx, c, right(c), 1, v)),
		wants(comm.ErrRevoked, "large send", comm.Send(ctx, c, right(c), 1, make([]byte, large))),
		wants(comm.ErrRevoked, "send of pieces", piecesErr),
		wants(comm.ErrRevoked, "send to itself", comm.Send(ctx, c, c.Rank(), 1, v)),
		wants(comm.ErrRevoked, "receive", recv(left(c), 1)),
		wants(comm.ErrRevoked, "receive from any source", recv(comm.AnySource, comm.AnyTag)),
		wants(comm.ErrRevoked, "Dup", dupErr),
		wants(comm.ErrRevoked, "Split", splitErr),
	}
	if c.Size() > 1 {
		errs = append(errs, wants(comm.ErrRevoked, "Barrier", comm.Barrier(ctx, c)))
	}
	return first(errs...)
}

// revokeAfter: also messages that had arrived are gone.
func revokeAfter(ctx context.Context, p *player) error {
	c := must(p.c.Dup(ctx))
	check(comm.Send(ctx, c, right(c), 1, []byte{1}))
	// Nobody revokes before all have sent.
	check(works(ctx, p.c))
	if c.Rank() == 0 {
		check(c.Revoke(), c.Revoke())
		check(p.allRevoked(ctx, c)) // at once
	}
	return first(p.allRevoked(ctx, c), agreesOn(ctx, c, 5))
}

// revokeOthers: those made of a revoked communicator live on, and the one that a
// revoked one was made of.
func revokeOthers(ctx context.Context, p *player) error {
	middle := must(p.c.Dup(ctx))
	derived := must(middle.Split(ctx, 0, 0))
	if p.c.Rank() == 0 {
		check(middle.Revoke())
	}
	return first(p.allRevoked(ctx, middle), works(ctx, derived), works(ctx, p.c))
}

func revokeTogether(ctx context.Context, p *player) error {
	for range 5 {
		c := must(p.c.Dup(ctx))
		check(c.Revoke(), p.allRevoked(ctx, c))
	}
	return works(ctx, p.c)
}

// revokerDies directly after it has revoked: the others, who wait for each
// other, get to know all the same.
func revokerDies(ctx context.Context, p *player) error {
	victim := p.one(func() {
		time.Sleep(soon(p.own))
		check(p.c.Revoke())
		p.f.Die()
	})
	from := left(p.c)
	if from == victim {
		from = (from + comm.Rank(p.c.Size()) - 1) % comm.Rank(p.c.Size())
	}
	_, _, err := comm.Recv(ctx, p.c, from, never, make([]byte, 1))
	check(wants(comm.ErrRevoked, "receive from a living rank", err), p.allRevoked(ctx, p.c))
	return p.isMadeOf(ctx, settle(ctx, p.c), others(p.c, victim))
}

// revokeGoesOn: agreement and shrink are not interrupted.
func revokeGoesOn(ctx context.Context, p *player) error {
	if p.c.Rank() == 0 {
		time.Sleep(soon(p.own))
		check(p.c.Revoke())
	}
	check(agreesOn(ctx, p.c, 6))
	return p.isMadeOf(ctx, must(p.c.Shrink(ctx)), others(p.c))
}

// agreesOn is an error unless all agree without failures.
func agreesOn(ctx context.Context, c *comm.Comm, flags uint64) error {
	got, err := c.Agree(ctx, flags)
	if err != nil {
		return fmt.Errorf("agree: %w", err)
	}
	return equal("flags", got, flags)
}

// revokeWhileDying: one rank revokes and others die, all at random moments.
func revokeWhileDying(ctx context.Context, p *player) error {
	victims := p.some(p.dieSoon)
	p.one(func() { p.after(soon(p.own), func() { _ = p.c.Revoke() }) }) // may be a victim
	check(untilFailure(ctx, p.c, comm.Barrier), p.c.Revoke())
	if p.isOneOf(victims) {
		return p.killed(ctx)
	}
	check(p.allRevoked(ctx, p.c))
	return p.onlyOnesLeft(ctx, p.c, victims)
}

// onlyOnesLeft shrinks until none of the victims, who die soon, is there.
func (p *player) onlyOnesLeft(ctx context.Context, c *comm.Comm, victims []comm.Rank) error {
	for ctx.Err() == nil {
		s := must(c.Shrink(ctx))
		if s.Size() == c.Size()-len(victims) {
			return p.isMadeOf(ctx, s, others(p.c, victims...))
		}
	}
	return context.Cause(ctx)
}
