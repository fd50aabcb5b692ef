package embedded

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// absence is how a process takes part no more.
type absence uint8

const (
	failed absence = 1 + iota
	left
)

// lose notes processes that take part no more.
func (e *endpoint) lose(procs []control.Proc, how absence) {
	for _, p := range procs {
		if p == e.self {
			continue
		}
		if e.wire != nil {
			e.wire.drop(p) // first what it has sent before
		}
		e.mu.Lock()
		if e.absent[p] == 0 || how == failed { // who had left, as it seemed, may have failed after all
			e.absent[p] = how
			var concerned []*mailbox
			for _, b := range e.boxes {
				if b.lose(p, how) {
					concerned = append(concerned, b)
				}
			}
			e.noticed.tell()
			for _, b := range concerned { // who learns of it on one communicator finds it known on all
				b.endOf(p, how)
			}
		}
		e.mu.Unlock()
	}
}

// returned notes processes whose bodies have returned. They had flushed what they
// have sent before they said so.
func (e *endpoint) returned(procs []control.Proc) {
	for _, p := range procs {
		if p == e.self {
			continue
		}
		if e.wire != nil {
			e.wire.deliver(p)
		}
		e.mu.Lock()
		e.away[p] = true // before anything ends: who is woken may send again at once
		boxes := slices.Collect(maps.Values(e.boxes))
		for _, b := range boxes {
			b.returned(p)
		}
		e.mu.Unlock()
		if e.wire != nil {
			e.wire.takeBack(p)
		}
		if to := e.near(p); to != nil {
			for _, b := range boxes {
				to.takeBack(b)
			}
		}
	}
}

// takeBack ends the sends of another process in this one that wait for a receive.
func (e *endpoint) takeBack(from *mailbox) {
	b, _ := e.box(from)
	e.mu.Lock()
	defer e.mu.Unlock()
	if b == nil || b.dead() || b.last {
		return
	}
	b.matcher.messages[from.owner].all(func(m *message) {
		if m.send != nil {
			b.endSend(m, errLeft(b.owner))
		}
	})
}

// isAway: the body of a rank has returned, which matters here.
func (b *mailbox) isAway(r int) bool { return !b.last && b.ep.away[b.procs[r]] }

// lose notes that a process takes part no more, and reports whether that is new.
func (b *mailbox) lose(p control.Proc, how absence) bool {
	rank := slices.Index(b.procs, p)
	if rank < 0 || b.lost[rank] == failed || b.lost[rank] == how {
		return false
	}
	if b.lost[rank] == 0 {
		b.present--
	}
	b.lost[rank] = how
	if how == failed {
		select {
		case <-b.failure:
		default:
			close(b.failure)
		}
	}
	return true
}

// notices wakes who waits for news of absences. The lock of the endpoint guards it.
type notices struct{ next chan struct{} }

// wait returns what is closed when there are any.
func (n *notices) wait() <-chan struct{} {
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *notices) tell() {
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// endedSend is a send to a process of this one that has ended, of which the root is about to say so: until then
// nobody is to know.
type endedSend struct {
	box *mailbox // of the sender
	dst int
}

func (s endedSend) Wait(ctx context.Context) (driver.Status, error) {
	if err := s.box.toBeKnown(ctx, s.dst); err != nil {
		return driver.Status{}, err
	}
	return driver.Status{}, errFailed(s.dst)
}

// toBeKnown waits until all communicators know that a rank takes part no more. An error is why this one has ended before.
func (b *mailbox) toBeKnown(ctx context.Context, rank int) error {
	for {
		b.ep.mu.Lock()
		known, err := b.lost[rank] != 0, b.deadError()
		noticed := b.ep.noticed.wait()
		b.ep.mu.Unlock()
		switch {
		case known:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-noticed:
		case <-ctx.Done():
			return driver.Withdrawn(ctx)
		}
	}
}

// endOf ends the receives that wait for a process which takes part no more.
func (b *mailbox) endOf(p control.Proc, how absence) {
	if b.revoked {
		return // nothing waits here any more
	}
	rank := slices.Index(b.procs, p)
	b.matcher.receives[rank].all(func(r *receive) { b.endReceive(r, errFailed(rank)) })
	b.endAny(how)
}

// returned ends the receives that wait for a process whose body has returned.
func (b *mailbox) returned(p control.Proc) {
	rank := slices.Index(b.procs, p)
	if rank < 0 || b.dead() || b.last {
		return
	}
	b.matcher.receives[rank].all(func(r *receive) { b.endReceive(r, errLeft(rank)) })
	b.endAny(left)
}

// endAny completes the receives from any source that an absence concerns.
func (b *mailbox) endAny(how absence) {
	err := b.nobodyElse()
	if how == failed {
		err = b.unacknowledged()
	}
	if err == nil {
		return
	}
	b.matcher.any.all(func(r *receive) {
		// One that is not awaited yet may still be met by the owner itself; else
		// failIfLast looks.
		if how == failed || r.request.state.Load() == awaited {
			b.endReceive(r, err)
		}
	})
}

// endReceive completes a receive that waits, and reports whether it did.
func (b *mailbox) endReceive(r *receive, err error) bool {
	if !r.place.leave() {
		return false
	}
	r.request.complete(driver.Status{}, err)
	return true
}

// nobodyElse is why no other rank can send anything, or nil.
func (b *mailbox) nobodyElse() error {
	switch {
	case b.alone():
		return b.othersLost()
	case b.deserted():
		return errDeserted
	}
	return nil
}

// deserted: nobody else is left whose body runs. Others than the job's own
// communicator may belong to something that outlives the bodies.
func (b *mailbox) deserted() bool {
	if !b.world || len(b.ep.away) == 0 {
		return false
	}
	for r, p := range b.procs {
		if p != b.ep.self && b.lost[r] == 0 && !b.ep.away[p] {
			return false
		}
	}
	return true
}

var errDeserted = fmt.Errorf("%w: the bodies of all other ranks have returned", driver.ErrClosed)

func errFailed(rank int) error { return &driver.FailedError{Ranks: []int{rank}} }

func errLeft(rank int) error {
	return fmt.Errorf("%w: the body of rank %d has returned", driver.ErrClosed, rank)
}

// revokedError is why a collective operation has failed that not all will take part in.
func (b *mailbox) revokedError(returned []control.Proc) error {
	for r, p := range b.procs {
		if slices.Contains(returned, p) {
			return errLeft(r)
		}
	}
	return driver.ErrRevoked
}

// alone: all others are lost.
func (b *mailbox) alone() bool { return len(b.procs) > 1 && b.present == 1 }

func (b *mailbox) othersLost() error {
	return &driver.FailedError{Ranks: b.ranks(func(r int) bool { return b.lost[r] != 0 })}
}
