package embedded

import (
	"slices"

	"github.com/craft-go/craft/aft/internal/control"
)

// cancel gives a message up. One whose data is on its way is sent all the same,
// from a copy.
func (l *outlink) cancel(o *outgoing, err error) {
	l.mu.Lock()
	defer l.unlock()
	switch {
	case o.state == sendOver || o.request == nil:
	case o.state == sendStreaming && l.state == linkOpen:
		l.keep(o)
		l.ended = append(l.ended, completion{o.request, nil})
		o.request = nil
	default:
		l.withdraw(o, err)
	}
}

// keep copies what is still to be sent of o.
func (l *outlink) keep(o *outgoing) {
	if l.current.of == o {
		l.current.body = l.current.body.clone()
	}
	if o.left > 0 {
		o.data = o.data.clone()
	}
}

// withdraw ends a message with err and tells the receiver, as far as it knows.
func (l *outlink) withdraw(o *outgoing, err error) {
	switch o.state {
	case sendQueued:
		l.over++
	case sendAnnounced:
		l.add(frame{kind: frameCancel, send: o.id})
	case sendStreaming:
		if l.current.of == o {
			l.current.body, l.current.of = l.current.body.clone(), nil
			if o.left == 0 {
				break // it gets the last piece, with which the receive is over
			}
		} else {
			l.over++
		}
		l.add(frame{kind: frameNack, recv: o.recv})
	}
	l.finish(o, err)
	if 2*l.over > len(l.queue)+len(l.streams) { // so that each costs the same, however many there are
		l.tidy()
	}
}

// takeBack ends the messages that nobody has asked for: the receiver's body has
// returned.
func (l *outlink) takeBack() {
	l.mu.Lock()
	defer l.unlock()
	for _, o := range l.sends {
		if o.state < sendStreaming && o.request != nil {
			l.withdraw(o, errLeft(o.request.peer))
		}
	}
}

// tidy forgets the messages that are over.
func (l *outlink) tidy() {
	isOver := func(o *outgoing) bool { return o.state == sendOver }
	l.queue, l.streams = slices.DeleteFunc(l.queue, isOver), slices.DeleteFunc(l.streams, isOver)
	l.over = 0
}

// revoke ends the messages of a communicator.
func (l *outlink) revoke(c control.CommID, why error) {
	l.mu.Lock()
	defer l.unlock()
	for _, o := range l.sends {
		if o.env.comm == c && o.request != nil {
			l.withdraw(o, why)
		}
	}
}

// pop takes the first message out that is not over; nil: there is none.
func (l *outlink) pop(list *[]*outgoing) *outgoing {
	for len(*list) > 0 {
		o := (*list)[0]
		*list = shift(*list)
		if o.state != sendOver {
			return o
		}
		l.over--
	}
	return nil
}
