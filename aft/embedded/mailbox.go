package embedded

import (
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

const (
	// eagerLimit is the length in bytes up to which a message is buffered.
	eagerLimit = 64 << 10
	// eagerBudget is what one mailbox buffers, in bytes. Each message counts
	// with at least eagerCost, so that empty ones are bounded too.
	eagerBudget = 8 << 20
	eagerCost   = 256
)

// mailbox is where the messages to one rank and its receives meet.
type mailbox struct {
	owner comm.Rank

	mu       sync.Mutex
	matcher  *matcher
	buffered int    // bytes of eager messages
	closed   bool   // the owner's body has returned
	gone     []bool // by rank: its body has returned
	left     int    // ranks that are not gone, the owner included
}

func newMailbox(owner comm.Rank, ranks int) *mailbox {
	return &mailbox{
		owner:   owner,
		matcher: newMatcher(ranks),
		gone:    make([]bool, ranks),
		left:    ranks,
	}
}

// send brings a message to the owner.
func (b *mailbox) send(source comm.Rank, tag comm.Tag, data []byte) comm.Request {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return comm.FailedRequest(&comm.FailedError{Ranks: []comm.Rank{b.owner}})
	}
	probe := message{source: source, tag: tag, data: data}
	if recv := b.matcher.find(&probe); recv != nil {
		b.matcher.withdrawReceive(recv)
		b.mu.Unlock()
		deliver(&probe, recv)
		return sentRequest{}
	}
	if cost := max(len(data), eagerCost); len(data) <= eagerLimit && b.buffered+cost <= eagerBudget {
		b.buffered += cost
		b.matcher.queueMessage(newEager(source, tag, data))
		b.mu.Unlock()
		return sentRequest{}
	}
	defer b.mu.Unlock()
	r := &request{box: b}
	r.sent = &message{source: source, tag: tag, data: data, send: r}
	b.matcher.queueMessage(r.sent)
	return r
}

// receive posts a receive of the owner.
func (b *mailbox) receive(source comm.Rank, tag comm.Tag, buf []byte) comm.Request {
	r := &request{box: b, recv: receive{source: source, tag: tag, buf: buf}}
	r.recv.request = r
	b.mu.Lock()
	m := b.matcher.post(&r.recv)
	switch {
	case m != nil && m.send == nil:
		b.buffered -= max(len(m.data), eagerCost)
	case m == nil && b.closed:
		b.matcher.withdrawReceive(&r.recv)
		r.complete(comm.Status{}, errLeft(b.owner))
	case m == nil && source != comm.AnySource && b.gone[source]:
		b.matcher.withdrawReceive(&r.recv)
		r.complete(comm.Status{}, &comm.FailedError{Ranks: []comm.Rank{source}})
	}
	b.mu.Unlock()
	if m != nil {
		deliver(m, &r.recv)
		if m.send == nil {
			m.recycle()
		}
	}
	return r
}

// deliver copies a message into the receive that matches it and completes both.
// Both have left the matcher.
func deliver(m *message, recv *receive) {
	status := comm.Status{Source: m.source, Tag: m.tag, Bytes: len(m.data)}
	var err error
	if len(m.data) > len(recv.buf) {
		err = &comm.TruncatedError{Status: status, Buffer: len(recv.buf)}
	} else {
		copy(recv.buf, m.data)
	}
	if m.send != nil {
		m.send.complete(comm.Status{}, nil)
	}
	recv.request.complete(status, err)
}

// withdraw completes r with err, unless it has been matched: then whoever
// matched it completes it.
func (b *mailbox) withdraw(r *request, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var queued bool
	if r.sent != nil {
		queued = b.matcher.withdrawMessage(r.sent)
	} else {
		queued = b.matcher.withdrawReceive(&r.recv)
	}
	if queued {
		r.complete(comm.Status{}, err)
	}
}

// failIfLast completes r, a receive from any source that is being waited for,
// if nobody else is left to send.
func (b *mailbox) failIfLast(r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.gone) > 1 && b.left == 1 && b.matcher.withdrawReceive(&r.recv) {
		r.complete(comm.Status{}, b.othersGone())
	}
}

func (b *mailbox) othersGone() error {
	failed := &comm.FailedError{}
	for r, gone := range b.gone {
		if gone {
			failed.Ranks = append(failed.Ranks, comm.Rank(r))
		}
	}
	return failed
}

// close ends the owner's part: what it was still to receive fails.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	abandon := func(r *receive) {
		b.matcher.withdrawReceive(r)
		r.request.complete(comm.Status{}, errLeft(b.owner))
	}
	b.matcher.any.all(abandon)
	for i := range b.matcher.receives {
		b.matcher.receives[i].all(abandon)
		b.matcher.messages[i].all(func(m *message) {
			b.matcher.withdrawMessage(m)
			if m.send != nil {
				m.send.complete(comm.Status{}, &comm.FailedError{Ranks: []comm.Rank{b.owner}})
			}
		})
	}
}

// lose notes that another rank's body has returned.
func (b *mailbox) lose(rank comm.Rank) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone[rank] = true
	b.left--
	b.matcher.receives[rank].all(func(r *receive) {
		b.matcher.withdrawReceive(r)
		r.request.complete(comm.Status{}, &comm.FailedError{Ranks: []comm.Rank{rank}})
	})
	if b.left > 1 {
		return
	}
	b.matcher.any.all(func(r *receive) {
		// One that is not awaited yet may still be met by the owner itself.
		if r.request.state.Load() == awaited {
			b.matcher.withdrawReceive(r)
			r.request.complete(comm.Status{}, b.othersGone())
		}
	})
}
