package embedded

import (
	"cmp"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

const (
	// eagerLimit is the length in bytes up to which a message is buffered.
	eagerLimit = 64 << 10
	// eagerBudget is what one process buffers of the messages of others in the
	// same process, in bytes. Each message counts with at least eagerCost, so
	// that empty ones are bounded too.
	eagerBudget = 8 << 20
	eagerCost   = 256
)

// mailbox is where the messages of one communicator to one process and its
// receives meet. Its endpoint's lock guards it.
type mailbox struct {
	ep    *endpoint
	id    control.CommID
	procs []control.Proc // by rank
	owner int
	nodes []int            // by rank; nil: not known
	world bool             // it is one of the job's own
	last  bool             // it outlives those: see driver.Options
	made  []control.CommID // what it is revoked with, the job's own first

	matcher   *matcher
	closed    error
	freed     bool
	spawned   bool // others have it as the job's own
	revoked   bool
	isRevoked chan struct{}
	news
	lost       []absence               // by rank
	dropped    []uint64                // by rank: what it has sent behind this is forgotten; 0: nothing is
	accepted   []bool                  // by rank: its failure has been acknowledged
	present    int                     // ranks that are not lost, the owner included
	operations [control.Classes]uint64 // collective ones that the root decides, by class
}

func newMailbox(e *endpoint, g control.Group) *mailbox {
	n := len(g.Procs)
	return &mailbox{
		ep: e, id: g.ID, procs: g.Procs,
		owner:     max(0, slices.Index(g.Procs, e.self)), // a process that has left meanwhile is not among them
		matcher:   newMatcher(n),
		isRevoked: make(chan struct{}), news: news{failure: make(chan struct{})},
		lost: make([]absence, n), dropped: make([]uint64, n), accepted: make([]bool, n), present: n,
		closed: e.closed,
	}
}

func (b *mailbox) knows(r int) bool { return r >= 0 && r < len(b.procs) }

// dead: nothing can be sent or received any more.
func (b *mailbox) dead() bool { return b.revoked || b.closed != nil }

// deadError is why b is dead, or nil.
func (b *mailbox) deadError() error {
	if b.revoked {
		return cmp.Or(b.closed, driver.ErrRevoked)
	}
	return b.closed
}

// send brings a message from another rank of this process to the owner; nil: that has ended.
func (b *mailbox) send(source int, tag int, data pieces) driver.Request {
	e := b.ep
	e.mu.Lock()
	switch {
	case b.revoked:
		e.mu.Unlock()
		return driver.FailedRequest(driver.ErrRevoked)
	case b.freed: // since the sender has found it
		e.mu.Unlock()
		return sentRequest{}
	case b.closed != nil:
		e.mu.Unlock()
		return nil
	}
	probe := message{source: source, tag: tag, data: data}
	if recv := b.matcher.take(&probe); recv != nil {
		e.mu.Unlock()
		deliver(&probe, recv)
		return sentRequest{}
	}
	length := data.length()
	if cost := eagerPrice(length); length <= eagerLimit && e.buffered+cost <= eagerBudget {
		e.buffered += cost
		b.matcher.queueMessage(newEager(source, tag, data))
		e.mu.Unlock()
		return sentRequest{}
	}
	defer e.mu.Unlock()
	r := &request{box: b, peer: b.owner}
	r.sent = &message{source: source, tag: tag, data: data, send: r}
	b.matcher.queueMessage(r.sent)
	return r
}

// receive posts a receive of the owner.
func (b *mailbox) receive(source int, tag int, buf []byte) driver.Request {
	return b.post(receive{source: source, tag: tag, buf: buf})
}

func (b *mailbox) post(recv receive) driver.Request {
	source := recv.source
	r := &request{box: b, peer: source, recv: recv}
	r.recv.request = r
	b.ep.mu.Lock()
	if err := b.deadError(); err != nil {
		b.ep.mu.Unlock()
		return driver.FailedRequest(err)
	}
	m := b.matcher.post(&r.recv)
	if m == nil {
		if err := b.recvError(source); err != nil {
			b.endReceive(&r.recv, err)
		}
	}
	b.ep.mu.Unlock()
	if m != nil {
		b.hand(m, &r.recv)
	}
	return r
}

// recvError is why a receive that no message meets cannot be posted, or nil.
func (b *mailbox) recvError(source int) error {
	switch {
	case source == driver.AnySource:
		return b.unacknowledged()
	case b.lost[source] != 0:
		return errFailed(source)
	case b.isAway(source):
		return errLeft(source)
	}
	return nil
}

// unacknowledged is the error of failures that the owner has not accepted, or
// nil.
func (b *mailbox) unacknowledged() error {
	ranks := b.ranks(func(r int) bool { return b.lost[r] == failed && !b.accepted[r] })
	if ranks == nil {
		return nil
	}
	return &driver.FailedError{Ranks: ranks}
}

// hand brings together a message and a receive that have left the matcher.
func (b *mailbox) hand(m *message, recv *receive) {
	if m.announced != nil {
		b.ep.mu.Lock()
		delete(b.ep.waiting, m.announced)
		b.ep.mu.Unlock()
		b.stream(m, recv)
		return
	}
	deliver(m, recv)
	if m.send != nil {
		return
	}
	if m.from != nil {
		m.from.consumed(eagerPrice(len(m.data.first)))
	} else {
		b.ep.mu.Lock()
		b.ep.buffered -= eagerPrice(len(m.data.first))
		b.ep.mu.Unlock()
	}
	m.recycle()
}

// stream has an announced message sent into a receive.
func (b *mailbox) stream(m *message, recv *receive) {
	r, in := recv.request, m.announced.into(recv)
	b.ep.mu.Lock()
	r.peer, r.in = m.source, in
	err := r.giveUp
	b.ep.mu.Unlock()
	if err != nil {
		in.cancel(err)
	}
	in.start()
}

// meet queues an announced message; if a receive takes it, it returns what is to
// be called without locks.
func (b *mailbox) meet(m *message) (start func()) {
	recv := b.matcher.take(m)
	if recv == nil {
		b.matcher.queueMessage(m)
		b.ep.waiting[m.announced] = m
		return nil
	}
	return func() { b.stream(m, recv) }
}

// takeEarly delivers what came before the communicator was known.
func (b *mailbox) takeEarly(early []*message) (starts []func()) {
	for _, m := range early {
		switch {
		case !b.knows(m.source):
			starts = append(starts, m.refuse)
		case m.announced != nil:
			if start := b.meet(m); start != nil {
				starts = append(starts, start)
			}
		default:
			b.matcher.queueMessage(m) // nobody can have posted a receive yet
		}
	}
	return starts
}

// dropBehind forgets the buffered messages that another process has sent behind
// one that is lost with it. Announced ones are lost by themselves.
func (b *mailbox) dropBehind(source int, order uint64) {
	if done := b.dropped[source]; done != 0 && done <= order {
		return // nothing comes any more
	}
	b.dropped[source] = order
	b.matcher.messages[source].all(func(m *message) {
		if m.place.order > order && m.announced == nil {
			m.place.leave()
			m.recycle()
		}
	})
}

// deliver copies a message into the receive that matches it and completes both.
// Both have left the matcher.
func deliver(m *message, recv *receive) {
	status := driver.Status{Source: m.source, Tag: m.tag, Bytes: m.data.length()}
	var err error
	if status.Bytes > recv.room() {
		err = &driver.TruncatedError{Status: status, Buffer: recv.room()}
	} else {
		recv.put(m.data)
	}
	if m.send != nil {
		m.send.complete(driver.Status{}, nil)
	}
	recv.request.complete(status, err)
}

// withdraw completes r with err, unless it has been matched: then whoever
// matched it completes it.
func (b *mailbox) withdraw(r *request, err error) {
	if r.out != nil {
		b.ep.wire.cancel(r, err)
		return
	}
	b.ep.mu.Lock()
	if r.sent == nil && b.endReceive(&r.recv, err) || r.sent != nil && b.endSend(r.sent, err) {
		b.ep.mu.Unlock()
		return
	}
	r.giveUp = err
	in := r.in
	b.ep.mu.Unlock()
	if in != nil { // else stream looks at giveUp
		in.cancel(err) // if it is just put back, repost looks at giveUp
	}
}

// failIfLast completes r, a receive from any source that is being waited for,
// if nobody else is left to send.
func (b *mailbox) failIfLast(r *request) {
	b.ep.mu.Lock()
	defer b.ep.mu.Unlock()
	if err := b.nobodyElse(); err != nil {
		b.endReceive(&r.recv, err)
	}
}

// endSend completes a send of this process that waits, and reports whether it did.
func (b *mailbox) endSend(m *message, err error) bool {
	if !m.place.leave() {
		return false
	}
	m.send.complete(driver.Status{}, err)
	return true
}

// markRevoked lets nothing begin any more. What is there is to be abandoned.
func (b *mailbox) markRevoked() {
	b.revoked = true
	close(b.isRevoked)
}

// close ends the owner's part.
func (b *mailbox) close(err error) []*message {
	b.closed = err
	return b.abandon(err, errFailed(b.owner))
}

// abandon completes all receives and all sends that wait here.
func (b *mailbox) abandon(receives, sends error) (refuse []*message) {
	b.notice()
	end := func(r *receive) { b.endReceive(r, receives) }
	b.matcher.any.all(end)
	for i := range b.matcher.receives {
		b.matcher.receives[i].all(end)
		b.matcher.messages[i].all(func(m *message) {
			m.place.leave()
			switch {
			case m.send != nil:
				m.send.complete(driver.Status{}, sends)
			case m.announced != nil:
				delete(b.ep.waiting, m.announced)
				refuse = append(refuse, m)
			case m.from != nil:
				refuse = append(refuse, m)
			default:
				b.ep.buffered -= eagerPrice(len(m.data.first))
			}
		})
	}
	return refuse
}

// refuse gives up a message of another process that nobody will receive. It is called without locks.
func (m *message) refuse() {
	if m.announced != nil {
		m.announced.refuse()
		return
	}
	m.from.consumed(eagerPrice(len(m.data.first)))
}
