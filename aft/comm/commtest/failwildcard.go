package commtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

var failWildcardTrials = []faultTrial{
	{"wildcard/posted before", fromTwo, wildcardBefore},
	{"wildcard/posted after, acknowledged", fromTwo, wildcardAfter},
	{"wildcard/another failure after the acknowledged one", fromThree, wildcardAgain},
	{"wildcard/message of a living rank had arrived", fromThree, wildcardArrived},
	{"wildcard/at a random moment", fromThree, wildcardRandom},
}

// anyByte receives a byte from anybody.
func anyByte(ctx context.Context, c *comm.Comm, tag comm.Tag) (comm.Status, error) {
	_, st, err := comm.Recv(ctx, c, comm.AnySource, tag, make([]byte, 1))
	return st, err
}

func wildcardBefore(ctx context.Context, p *player) error {
	victim := p.one(func() { p.dieHeard(ctx) })
	recvs := []comm.Request{
		comm.Irecv(p.c, comm.AnySource, 1, make([]byte, 1)),
		comm.Irecv(p.c, comm.AnySource, comm.AnyTag, make([]byte, large)),
	}
	check(tell(ctx, p.c, victim))
	for _, r := range recvs {
		_, err := r.Wait(ctx)
		check(failed("receive from any source, posted before", err, victim))
	}
	return nil
}

// wildcardAfter: such receives fail until the failure is acknowledged; then they
// work as long as somebody else is there.
func wildcardAfter(ctx context.Context, p *player) error {
	victim := p.one(p.f.Die)
	check(await(ctx, p.c, victim))
	for _, tag := range []comm.Tag{1, never, 1} {
		_, err := anyByte(ctx, p.c, tag)
		check(failed("receive from any source, not acknowledged", err, victim))
	}
	check(equalSlices("Acknowledge", p.c.Acknowledge(), []comm.Rank{victim}))
	living := others(p.c, victim)
	if len(living) == 1 {
		_, err := anyByte(ctx, p.c, 1)
		return failed("receive from any source, all others are dead", err, victim)
	}
	// All have seen their failures before the first sends.
	must(p.c.Agree(ctx, 1))
	return starToFirst(ctx, p.c, living)
}

// starToFirst has the first of the ranks receive a message of each other one,
// from any source.
func starToFirst(ctx context.Context, c *comm.Comm, living []comm.Rank) error {
	if c.Rank() != living[0] {
		return comm.Send(ctx, c, living[0], 5, []byte{1})
	}
	seen := make(map[comm.Rank]bool)
	for range living[1:] {
		seen[must(anyByte(ctx, c, 5)).Source] = true
	}
	return equal("number of senders", len(seen), len(living)-1)
}

func wildcardAgain(ctx context.Context, p *player) error {
	one, two := p.two()
	if p.c.Rank() == one {
		p.f.Die()
	}
	if p.c.Rank() == two {
		p.dieHeard(ctx, one)
	}
	check(await(ctx, p.c, one))
	check(equalSlices("Acknowledge", p.c.Acknowledge(), []comm.Rank{one}))
	recv := comm.Irecv(p.c, comm.AnySource, 1, make([]byte, 1))
	check(tell(ctx, p.c, two))
	_, err := recv.Wait(ctx)
	check(failed("receive from any source at another failure", err, two))
	return equal("failures acknowledged", len(p.c.Acknowledge()), 2)
}

// wildcardArrived: a message that is there is taken, whoever has died.
func wildcardArrived(ctx context.Context, p *player) error {
	victim, sender := p.two()
	switch p.c.Rank() {
	case victim:
		p.f.Die()
	case sender:
		for _, r := range others(p.c, victim, sender) {
			check(comm.Send(ctx, p.c, r, 1, []byte{1}), tell(ctx, p.c, r))
		}
		return nil
	}
	check(hear(ctx, p.c, sender), await(ctx, p.c, victim))
	st, err := anyByte(ctx, p.c, 1)
	return first(err, equal("source", st.Source, sender))
}

// wildcardRandom is a manager that goes on with the workers that are left (the
// ULFM paper's first use case).
func wildcardRandom(ctx context.Context, p *player) error {
	manager, n := p.choose(), p.c.Size()
	count := 1 + p.same.IntN(n-2)
	var victims []comm.Rank
	for _, i := range pick(p.same, n-1, count) {
		victims = append(victims, others(p.c, manager)[i])
	}
	const each = 30
	if p.c.Rank() != manager {
		if p.isOneOf(victims) {
			p.dieSoon()
		}
		for i := range each {
			check(comm.Send(ctx, p.c, manager, comm.Tag(i), []byte{1}))
		}
		if p.isOneOf(victims) {
			return p.killed(ctx)
		}
		return nil
	}
	got, acknowledged := make([]int, n), 0
	for left := each * (n - 1 - count); left > 0; {
		st, err := anyByte(ctx, p.c, comm.AnyTag)
		if err != nil {
			if wrong := failed("receive from any source", err); wrong != nil {
				return wrong
			}
			before := acknowledged
			acknowledged = len(p.c.Acknowledge())
			if acknowledged <= before {
				return fmt.Errorf("receive from any source: all failures were acknowledged: %w", err)
			}
			continue
		}
		check(equal("message of a worker", st.Tag, comm.Tag(got[st.Source])))
		got[st.Source]++
		if !slices.Contains(victims, st.Source) {
			left--
		}
	}
	return await(ctx, p.c, victims...)
}
