package embedded

import "github.com/craft-go/craft/aft/comm/driver"

// message is one that has been sent and not yet received.
type message struct {
	source int
	tag    int
	data   pieces   // eager: the mailbox's copy, in one; otherwise the sender's slices
	send   *request // completed by whoever copies data; nil: eager
	// announced: data is with another process, which sends it when asked to.
	announced announced
	from      creditor // of an eager message of another process
	place     place[message]
}

// receive is one that has been posted.
type receive struct {
	source  int // or AnySource
	tag     int // or AnyTag
	buf     []byte
	take    func(piece []byte) // in the place of buf: see driver.Taker
	limit   int                // bytes that take may be given
	request *request           // completed by whoever fills buf
	place   place[receive]
}

// room is how long the message may be.
func (r *receive) room() int {
	if r.take != nil {
		return r.limit
	}
	return len(r.buf)
}

// put is given all of a message at once.
func (r *receive) put(data pieces) {
	if r.take == nil {
		data.appendTo(r.buf[:0])
		return
	}
	r.take(data.first)
	for _, piece := range data.rest {
		if len(piece) > 0 {
			r.take(piece)
		}
	}
}

func (m *message) matches(r *receive) bool {
	return (r.source == driver.AnySource || r.source == m.source) && driver.Matches(m.tag, r.tag)
}

// matcher pairs the messages to one rank with the receives that it posts, both
// in their order. It is a plain data structure: the caller locks, copies and
// completes. What goes in comes out exactly once: as a match, or by leaving its place.
type matcher struct {
	clock    uint64           // counts what was queued, to compare lists
	messages []queue[message] // by source
	receives []queue[receive] // by source
	any      queue[receive]   // from any source
}

func newMatcher(ranks int) *matcher {
	return &matcher{
		messages: make([]queue[message], ranks),
		receives: make([]queue[receive], ranks),
	}
}

// take takes the oldest receive that matches m out; nil: there is none.
func (x *matcher) take(m *message) *receive {
	r := x.receives[m.source].first(m.matches)
	if w := x.any.first(m.matches); w != nil && (r == nil || w.place.order < r.place.order) {
		r = w
	}
	if r != nil {
		r.place.leave()
	}
	return r
}

// queueMessage puts m behind all others; take has been asked before.
func (x *matcher) queueMessage(m *message) {
	x.clock++
	x.messages[m.source].push(m, &m.place, x.clock)
}

// post returns the message that r takes, or queues r and returns nil.
func (x *matcher) post(r *receive) *message {
	x.clock++
	r.place.order = x.clock
	return x.offer(r)
}

// offer is post for a receive that has its number: one that has been matched before goes back
// to its old place.
func (x *matcher) offer(r *receive) *message {
	receives, messages := &x.any, x.messages
	if r.source != driver.AnySource {
		receives, messages = &x.receives[r.source], x.messages[r.source:r.source+1]
	}
	matches := func(m *message) bool { return m.matches(r) }
	var found *message
	for i := range messages {
		m := messages[i].first(matches)
		if m != nil && (found == nil || m.place.order < found.place.order) {
			found = m
		}
	}
	if found != nil {
		found.place.leave()
		return found
	}
	receives.push(r, &r.place, r.place.order)
	return nil
}
