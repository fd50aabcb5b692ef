package embedded

import (
	"cmp"
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

var _ receiver = (*endpoint)(nil)

func (e *endpoint) arrive(v envelope, data []byte, from creditor) {
	probe := message{source: v.source, tag: v.tag, data: pieces{first: data}}
	var recv *receive
	e.mu.Lock()
	b, early := e.boxOf(v)
	if b != nil {
		recv = b.matcher.take(&probe)
	}
	if recv == nil && (b != nil || early) {
		m := newEager(v.source, v.tag, probe.data)
		m.from = from
		if early {
			e.early[v.comm] = append(e.early[v.comm], m)
		} else {
			b.matcher.queueMessage(m)
		}
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	if recv != nil {
		deliver(&probe, recv)
	}
	from.consumed(eagerPrice(len(data)))
}

func (e *endpoint) announce(v envelope, a announced) {
	m := &message{source: v.source, tag: v.tag, announced: a}
	var start func()
	e.mu.Lock()
	b, early := e.boxOf(v)
	switch {
	case b != nil:
		start = b.meet(m)
	case early:
		e.early[v.comm] = append(e.early[v.comm], m)
	case e.boxes[v.comm] == nil && !e.known.isAhead(v.comm): // it was freed
		start = func() { e.drop(m) }
	default:
		start = m.refuse
	}
	e.mu.Unlock()
	if start != nil {
		start()
	}
}

// boxOf is the mailbox of a message, if it takes any; else whether the message is early: before
// its communicator is known here. The lock is held.
func (e *endpoint) boxOf(v envelope) (b *mailbox, early bool) {
	b = e.boxes[v.comm]
	switch {
	case b == nil:
		return nil, e.closed == nil && e.known.isAhead(v.comm)
	case b.dead() || !b.knows(v.source):
		return nil, false
	}
	return b, false
}

func (e *endpoint) repost(r *receive) {
	q := r.request
	b := q.box
	var m *message
	e.mu.Lock()
	err := cmp.Or(q.giveUp, b.deadError())
	if err == nil {
		q.in = nil
		m = b.matcher.offer(r)
	}
	if err == nil && m == nil { // it was not there when processes were lost meanwhile
		err = b.recvError(r.source)
		if err == nil && r.source == driver.AnySource && q.state.Load() == awaited {
			err = b.nobodyElse()
		}
	}
	if err != nil {
		r.place.leave()
		q.complete(driver.Status{}, err)
	}
	e.mu.Unlock()
	if m != nil {
		b.hand(m, r)
	}
}

func (e *endpoint) withdraw(a announced) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.waiting[a]; m != nil {
		m.place.leave()
		delete(e.waiting, a)
		return
	}
	for id, list := range e.early {
		e.early[id] = slices.DeleteFunc(list, func(m *message) bool { return m.announced == a })
	}
}

func (e *endpoint) lost(v envelope, a announced) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.waiting[a]; m != nil {
		order := m.place.order
		m.place.leave()
		delete(e.waiting, a)
		e.boxes[v.comm].dropBehind(v.source, order)
		return
	}
	list := e.early[v.comm]
	i := slices.IndexFunc(list, func(m *message) bool { return m.announced == a })
	if i < 0 {
		return
	}
	behind := slices.DeleteFunc(list[i:], func(m *message) bool { return m.source == v.source })
	e.early[v.comm] = list[:i+len(behind)]
}
