package commtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

var (
	fromTwo   = []int{2, 3, 4, 8}
	fromOne   = []int{1, 2, 3, 4, 8}
	fromThree = []int{3, 4, 8}
)

const (
	eager = 1000
	large = 4 << 20 // longer than what engines buffer
)

var failMessageTrials = []faultTrial{
	{"message/receive posted before", fromTwo, receiveBefore},
	{"message/receive posted after", fromTwo, receiveAfter},
	{"message/send before", fromTwo, sendBefore},
	{"message/send after", fromTwo, sendAfter},
	{"message/sends until it fails", fromTwo, sendFlood},
	{"message/large one half way, receiver dies", fromTwo, receiverDies(comm.Isend[byte])},
	{"message/large one half way, sender dies", fromTwo, senderDies(comm.Isend[byte])},
	{"message/pieces half way, receiver dies", fromTwo, receiverDies(inPieces)},
	{"message/pieces half way, sender dies", fromTwo, senderDies(inPieces)},
	{"message/had arrived", fromTwo, hadArrived},
	{"message/large one was announced", fromTwo, hadBeenAnnounced},
	{"message/Sendrecv", fromTwo, sendrecvDead},
	{"message/survivors are not disturbed", fromThree, survivorsUndisturbed},
	{"message/all others die", fromTwo, allOthersDie},
}

// receiveBefore: what waits for a message of a process that dies.
func receiveBefore(ctx context.Context, p *player) error {
	victim := p.one(func() { p.dieHeard(ctx) })
	recvs := []comm.Request{
		comm.Irecv(p.c, victim, 1, make([]byte, eager)),
		comm.Irecv(p.c, victim, 1, make([]byte, large)),
		comm.Irecv(p.c, victim, comm.AnyTag, make([]byte, eager)),
	}
	check(tell(ctx, p.c, victim))
	for _, r := range recvs {
		_, err := r.Wait(ctx)
		check(failed("receive that was posted before", err, victim))
	}
	return nil
}

func receiveAfter(ctx context.Context, p *player) error {
	victim := p.one(p.f.Die)
	for range 2 {
		check(await(ctx, p.c, victim))
	}
	return equalSlices("Failed", p.c.Failed(), []comm.Rank{victim})
}

// sendBefore: a large message that is never received.
func sendBefore(ctx context.Context, p *player) error {
	victim := p.one(func() { p.dieHeard(ctx) })
	data := pattern(p.c.Rank(), 1, large)
	send := comm.Isend(p.c, victim, 1, data)
	check(tell(ctx, p.c, victim))
	_, err := send.Wait(ctx)
	clear(data) // is ours again
	return failed("send that was not received", err, victim)
}

func sendAfter(ctx context.Context, p *player) error {
	victim := p.one(p.f.Die)
	check(await(ctx, p.c, victim))
	for _, length := range []int{0, eager, large} {
		check(failed(fmt.Sprintf("send of %d bytes", length),
			comm.Send(ctx, p.c, victim, 1, make([]byte, length)), victim))
	}
	return nil
}

// sendFlood: the receiver of a stream dies at some moment.
func sendFlood(ctx context.Context, p *player) error {
	victim, receives := p.choose(), p.same.IntN(2) == 0
	buf := make([]byte, eager)
	if p.c.Rank() == victim {
		p.dieSoon()
		for receives {
			if _, _, err := comm.Recv(ctx, p.c, comm.AnySource, 1, buf); err != nil {
				break
			}
		}
		return p.killed(ctx)
	}
	for ctx.Err() == nil {
		if err := comm.Send(ctx, p.c, victim, 1, buf); err != nil {
			return failed("send", err, victim)
		}
	}
	return context.Cause(ctx)
}

// isend starts to send a large message.
type isend func(c *comm.Comm, dst comm.Rank, tag comm.Tag, data []byte) comm.Request

// inPieces sends data from many short pieces and then some long ones.
func inPieces(c *comm.Comm, dst comm.Rank, tag comm.Tag, data []byte) comm.Request {
	const short = 1 << 20
	pieces := slices.AppendSeq(slices.Collect(slices.Chunk(data[:short], 1000)), slices.Chunk(data[short:], 300_000))
	return comm.Isendv(c, dst, tag, pieces...)
}

// receiverDies: only two of the ranks take part, the others watch.
func receiverDies(start isend) func(ctx context.Context, p *player) error {
	return func(ctx context.Context, p *player) error {
		victim := p.choose()
		sender := (victim + 1) % comm.Rank(p.c.Size())
		switch p.c.Rank() {
		case victim:
			p.dieSoon()
			_, _, err := comm.Recv(ctx, p.c, sender, 1, make([]byte, large))
			check(err)
			return p.killed(ctx)
		case sender:
			data := pattern(sender, 1, large)
			if _, err := start(p.c, victim, 1, data).Wait(ctx); err != nil {
				clear(data)
				return failed("large send", err, victim)
			}
		}
		return await(ctx, p.c, victim)
	}
}

func senderDies(start isend) func(ctx context.Context, p *player) error {
	return func(ctx context.Context, p *player) error {
		victim := p.choose()
		receiver := (victim + 1) % comm.Rank(p.c.Size())
		switch p.c.Rank() {
		case victim:
			send := start(p.c, receiver, 1, pattern(victim, 1, large))
			p.dieSoon()
			must(send.Wait(ctx))
			return p.killed(ctx)
		case receiver:
			buf := make([]byte, large)
			_, _, err := comm.Recv(ctx, p.c, victim, 1, buf)
			if err != nil {
				check(failed("large receive", err, victim))
				break
			}
			check(equalSlices("data", buf, pattern(victim, 1, large)))
		}
		return await(ctx, p.c, victim)
	}
}

// hadArrived: messages that reached the others before their sender's death.
func hadArrived(ctx context.Context, p *player) error {
	victim := p.one(func() {
		for _, r := range others(p.c, p.c.Rank()) {
			for tag := range comm.Tag(3) {
				check(comm.Send(ctx, p.c, r, tag, pattern(p.c.Rank(), tag, eager)))
			}
			check(tell(ctx, p.c, r))
		}
		p.dieHeard(ctx)
	})
	// The word comes after the others; so those have arrived.
	check(hear(ctx, p.c, victim), tell(ctx, p.c, victim), await(ctx, p.c, victim))
	for i, source := range []comm.Rank{victim, comm.AnySource, victim} {
		tag := comm.Tag(2 - i)
		buf := make([]byte, eager)
		_, st, err := comm.Recv(ctx, p.c, source, tag, buf)
		check(err, equal("source", st.Source, victim), equalSlices("data", buf, pattern(victim, tag, eager)))
	}
	return await(ctx, p.c, victim)
}

// hadBeenAnnounced: the data of a large message is still with its sender when
// that dies. It is received as a whole or not at all.
func hadBeenAnnounced(ctx context.Context, p *player) error {
	victim := p.one(func() {
		for _, r := range others(p.c, p.c.Rank()) {
			comm.Isend(p.c, r, 1, pattern(p.c.Rank(), 1, large))
			check(tell(ctx, p.c, r))
		}
		p.dieHeard(ctx)
	})
	check(hear(ctx, p.c, victim), tell(ctx, p.c, victim), await(ctx, p.c, victim))
	buf := make([]byte, large)
	if _, _, err := comm.Recv(ctx, p.c, victim, 1, buf); err != nil {
		return failed("receive of a large message that had only been announced", err, victim)
	}
	return equalSlices("data", buf, pattern(victim, 1, large))
}

// sendrecvDead: one side of an exchange is dead, or both are.
func sendrecvDead(ctx context.Context, p *player) error {
	victim := p.one(func() { p.dieIdle(ctx) })
	length := []int{eager, large}[p.same.IntN(2)]
	data, buf := make([]byte, length), make([]byte, length)
	_, _, err := comm.Sendrecv(ctx, p.c, victim, 1, data, victim, 1, buf)
	check(failed("exchange with a dead rank", err, victim))
	// This rank itself is the one that is alive.
	_, _, err = comm.Sendrecv(ctx, p.c, p.c.Rank(), 1, data, victim, 1, buf)
	check(failed("exchange, received from a dead rank", err, victim))
	send := comm.Isend(p.c, p.c.Rank(), 2, data)
	_, _, err = comm.Sendrecv(ctx, p.c, victim, 2, data, p.c.Rank(), 2, buf)
	check(comm.WaitAll(ctx, send))
	return failed("exchange, sent to a dead rank", err, victim)
}

// survivorsUndisturbed exchange messages in a ring around one that dies.
func survivorsUndisturbed(ctx context.Context, p *player) error {
	victim := p.one(func() { p.dieIdle(ctx) })
	living := others(p.c, victim)
	me := slices.Index(living, p.c.Rank())
	next, before := living[(me+1)%len(living)], living[(me+len(living)-1)%len(living)]
	for i := range 100 {
		length := eager
		if i%20 == 7 {
			length = 300 << 10
		}
		tag := comm.Tag(i)
		buf := make([]byte, length)
		_, _, err := comm.Sendrecv(ctx, p.c, next, tag, pattern(p.c.Rank(), tag, length), before, tag, buf)
		check(err, equalSlices("data", buf, pattern(before, tag, length)))
	}
	return await(ctx, p.c, victim)
}

// allOthersDie: each receive ends when its own sender has died.
func allOthersDie(ctx context.Context, p *player) error {
	survivor := p.choose()
	if p.c.Rank() != survivor {
		p.dieIdle(ctx)
	}
	victims := others(p.c, survivor)
	recvs := make([]comm.Request, len(victims))
	for i, v := range victims {
		recvs[i] = comm.Irecv(p.c, v, 1, make([]byte, 1))
	}
	for i, v := range victims {
		_, err := recvs[i].Wait(ctx)
		check(failed("receive", err, v))
	}
	return equalSlices("Failed", p.c.Failed(), victims)
}
