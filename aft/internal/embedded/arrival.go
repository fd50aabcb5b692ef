package embedded

import (
	"slices"

	"github.com/craft-go/craft/aft/comm/driver"
)

var _ receiver = (*endpoint)(nil)

func (e *endpoint) arrive(v envelope, data []byte, from creditor) {
	e.mu.Lock()
	b := e.boxes[v.comm]
	if b == nil && e.closed == nil && e.known.isAhead(v.comm) {
		m := newEager(v.source, v.tag, data)
		m.from = from
		e.early[v.comm] = append(e.early[v.comm], m)
		e.mu.Unlock()
		return
	}
	if b == nil || b.dead() || !b.knows(v.source) {
		e.mu.Unlock()
		from.consumed(eagerPrice(len(data)))
		return
	}
	probe := message{source: v.source, tag: v.tag, data: data}
	if recv := b.matcher.take(&probe); recv != nil {
		e.mu.Unlock()
		deliver(&probe, recv)
		from.consumed(eagerPrice(len(data)))
		return
	}
	m := newEager(v.source, v.tag, data)
	m.from = from
	b.matcher.queueMessage(m)
	e.mu.Unlock()
}

func (e *endpoint) announce(v envelope, a announced) {
	m := &message{source: v.source, tag: v.tag, announced: a}
	e.mu.Lock()
	b := e.boxes[v.comm]
	if b == nil && e.closed == nil && e.known.isAhead(v.comm) {
		e.early[v.comm] = append(e.early[v.comm], m)
		e.mu.Unlock()
		return
	}
	if b == nil || b.dead() || !b.knows(v.source) {
		freed := b == nil && !e.known.isAhead(v.comm)
		e.mu.Unlock()
		if freed {
			e.drop(m)
		} else {
			m.refuse()
		}
		return
	}
	start := b.meet(m)
	e.mu.Unlock()
	if start != nil {
		start()
	}
}

func (e *endpoint) repost(r *receive) {
	q := r.request
	b := q.box
	var m *message
	e.mu.Lock()
	switch {
	case q.giveUp != nil:
		q.complete(driver.Status{}, q.giveUp)
	case b.dead():
		q.complete(driver.Status{}, b.deadError())
	default:
		q.in = nil
		if m = b.matcher.offer(r); m != nil {
			break
		}
		// It was not there when processes were lost meanwhile.
		err := b.recvError(r.source)
		if err == nil && r.source == driver.AnySource && q.state.Load() == awaited {
			err = b.nobodyElse()
		}
		if err != nil {
			b.endReceive(r, err)
		}
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
