package embedded

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

type linkState uint8

const (
	linkUnknown linkState = iota // nobody has said where the process is
	linkDialing
	linkOpen
	linkBroken // it cannot be reached: what is under way waits for the root's word
	linkGone   // it takes part no more
	linkClosed // this process takes part no more
)

type sendState uint8

const (
	sendQueued    sendState = iota // the announcement has not been written
	sendAnnounced                  // it has; the receiver's answer has not come
	sendStreaming                  // the data is being written
	sendOver
)

// outgoing is a message that has not been handed over completely.
type outgoing struct {
	link  *outlink
	env   envelope
	data  pieces // what has not been put into frames: the user's, or a copy when request is nil
	eager bool   // data travels with the envelope
	state sendState
	id    uint64 // as frames call it
	recv  uint64 // the receiver's name for it
	left  int    // bytes that the receiver wants and that have not been put into frames
	// request is completed at the end; nil: it has been before.
	request *request
}

// outlink is the way to one process.
type outlink struct {
	wire *wire
	to   control.Proc

	mu      sync.Mutex
	state   linkState
	pipe    *pipe.Writer
	failed  error // why it cannot be reached; nil: it can, or it has left
	stopRun context.CancelFunc
	credit  int // eager bytes that may still be sent

	current  writing     // the frame that is being written
	control  []frame     // short ones, before everything else
	queue    []*outgoing // eager messages and announcements, in order
	streams  []*outgoing // whose data is wanted, each in its turn
	sends    map[uint64]*outgoing
	lastSend uint64
	over     int // in queue and streams, at most: they have ended and are skipped

	ended []completion // to be completed when the lock is released

	// blocked: there is something to write and no room. Without armed, somebody
	// who spins looks for room; see spin.
	blocked atomic.Bool
	armed   atomic.Bool
}

// writing is what remains of a frame.
type writing struct {
	head []byte // of buf
	body pieces
	of   *outgoing // whose data body is; nil: of nobody who waits
	buf  [frameSize]byte
}

func (c *writing) busy() bool { return len(c.head)+len(c.body.first) > 0 || c.of != nil }

type completion struct {
	request *request
	err     error
}

func newOutlink(w *wire, to control.Proc, state linkState) *outlink {
	return &outlink{wire: w, to: to, state: state, credit: wireWindow, sends: make(map[uint64]*outgoing)}
}

// unlock releases the lock after something may have been added. Requests are
// completed without it, because that may start others.
func (l *outlink) unlock() {
	l.pump()
	ended := l.ended
	l.ended = nil
	l.mu.Unlock()
	for _, c := range ended {
		c.request.complete(driver.Status{}, c.err)
	}
}

// send starts a message.
func (l *outlink) send(e envelope, data pieces, r *request) {
	var err error
	l.mu.Lock()
	switch {
	case l.state == linkGone:
		err = r.failedError()
	case l.state == linkClosed:
		err = driver.ErrClosed
	case e.length <= wireEager && eagerPrice(e.length) <= l.credit && l.state != linkBroken:
		l.credit -= eagerPrice(e.length)
		l.eager(e, data)
	default:
		l.lastSend++
		o := &outgoing{link: l, env: e, data: data, id: l.lastSend, request: r}
		r.out = o
		l.sends[o.id] = o
		l.queue = append(l.queue, o)
		l.unlock()
		return
	}
	l.unlock()
	r.complete(driver.Status{}, err)
}

// eager writes a short message, or copies what there is no room for.
func (l *outlink) eager(e envelope, data pieces) {
	f := frame{kind: frameEager, comm: e.comm, source: e.source, tag: e.tag, length: e.length}
	if l.state != linkOpen || l.busy() {
		l.queue = append(l.queue, &outgoing{link: l, env: e, eager: true, data: data.clone()})
		return
	}
	l.begin(f, data, nil)
	if !l.write() {
		l.current.body = l.current.body.clone()
	}
}

// busy reports whether something is to be written before a new message.
func (l *outlink) busy() bool {
	return l.current.busy() || len(l.control) > 0 || len(l.queue) > 0
}

func (l *outlink) begin(f frame, body pieces, of *outgoing) {
	c := &l.current
	c.head, c.body, c.of = f.encode(&c.buf), body, of
}

// write goes on with the current frame, and reports whether it has been written.
func (l *outlink) write() bool {
	c := &l.current
	n, err := l.pipe.TryWrite(c.head, c.body.first, c.body.rest...)
	k := min(n, len(c.head))
	c.head = c.head[k:]
	c.body.skip(n - k)
	if err != nil {
		l.fail(err)
		return false
	}
	if len(c.head)+len(c.body.first) > 0 {
		return false
	}
	c.head, c.body = nil, pieces{}
	if o := c.of; o != nil {
		c.of = nil
		if o.left > 0 {
			l.streams = append(l.streams, o) // behind the others
		} else {
			l.finish(o, nil)
		}
	}
	return true
}

// finish ends a message; whoever waits for it gets err.
func (l *outlink) finish(o *outgoing, err error) {
	o.state, o.data = sendOver, pieces{}
	delete(l.sends, o.id)
	if o.request != nil {
		l.ended = append(l.ended, completion{o.request, err})
		o.request = nil
	}
}

// pump writes what there is room for.
func (l *outlink) pump() {
	if l.state != linkOpen {
		return
	}
	for {
		for (l.current.busy() || l.next()) && l.write() {
		}
		if l.state != linkOpen {
			return
		}
		if !l.current.busy() {
			break
		}
		l.blocked.Store(true)
		l.armed.Store(false) // before asking who spins: see rest
		if l.wire.spinning.Load() > 0 {
			l.pipe.Wake()
			return
		}
		l.armed.Store(true)
		if l.pipe.Sleep() {
			return
		}
	}
	if l.blocked.Load() {
		l.blocked.Store(false)
	}
}

// next begins the next frame, if there is one.
func (l *outlink) next() bool {
	if len(l.control) > 0 {
		l.begin(l.control[0], pieces{}, nil)
		l.control = shift(l.control)
		return true
	}
	if o := l.pop(&l.queue); o != nil {
		f := frame{kind: frameEager, comm: o.env.comm, source: o.env.source, tag: o.env.tag, length: o.env.length}
		if o.eager {
			l.begin(f, o.data, nil)
			return true
		}
		f.kind, f.send = frameRTS, o.id
		o.state = sendAnnounced
		l.begin(f, pieces{}, nil)
		return true
	}
	if o := l.pop(&l.streams); o != nil {
		body := o.data.cut(min(o.left, wirePiece))
		n := body.length()
		l.begin(frame{kind: frameData, recv: o.recv, length: n}, body, o)
		o.left -= n
		return true
	}
	return false
}

// shift drops the first element, and the memory when it was the last.
func shift[T any](s []T) []T {
	var zero T
	s[0] = zero
	if len(s) == 1 {
		return s[:0:0]
	}
	return s[1:]
}

// say sends a short frame.
func (l *outlink) say(f frame) {
	l.mu.Lock()
	l.add(f)
	l.unlock()
}

// add queues a short frame, if anybody can still get it.
func (l *outlink) add(f frame) {
	if l.state <= linkOpen {
		l.control = append(l.control, f)
	}
}

// granted takes credit that the other process has given back.
func (l *outlink) granted(n int) error {
	l.mu.Lock()
	defer l.unlock()
	if n > wireWindow-l.credit {
		return fmt.Errorf("%w: credit of %d bytes, %d were used", errFrame, n, wireWindow-l.credit)
	}
	l.credit += n
	return nil
}

// wanted begins to send the data of an announced message. A message that was
// taken back meanwhile is not there.
func (l *outlink) wanted(f frame) error {
	l.mu.Lock()
	defer l.unlock()
	o := l.sends[f.send]
	switch {
	case o == nil && f.send <= l.lastSend:
		l.add(frame{kind: frameNack, recv: f.recv})
		return nil
	case o == nil || o.state != sendAnnounced || (f.length != 0 && f.length != o.env.length):
		return fmt.Errorf("%w: an answer to a message that was not announced: %+v", errFrame, f)
	}
	o.state, o.recv, o.left = sendStreaming, f.recv, f.length
	l.streams = append(l.streams, o)
	return nil
}

// fail notes that the process cannot be reached; without an error, that it
// leaves. Its messages wait for the root's word, but none is written any more. run
// reports it, since that ends when the pipe is closed.
func (l *outlink) fail(err error) {
	if l.state > linkOpen {
		return
	}
	l.state, l.failed = linkBroken, err
	l.quit()
}

// end forgets the process: its messages end with the error that fits each.
func (l *outlink) end(state linkState, why func(r *request) error) {
	l.mu.Lock()
	defer l.unlock()
	if l.state >= linkGone {
		return
	}
	if state == linkClosed && l.state == linkOpen {
		l.pump()
		l.add(frame{kind: frameBye})
		l.pump()
	}
	l.state = state
	l.quit()
	for _, o := range l.sends {
		var err error
		if o.request != nil {
			err = why(o.request)
		}
		l.finish(o, err)
	}
}

// quit closes the pipe and drops what was to be written.
func (l *outlink) quit() {
	l.blocked.Store(false)
	if l.stopRun != nil {
		l.stopRun()
	}
	if l.pipe != nil {
		l.pipe.Close()
	}
	l.current = writing{}
	l.control, l.queue, l.streams, l.over = nil, nil, nil, 0
}

// look writes what there is room for, on behalf of somebody who spins.
func (l *outlink) look() {
	if l.blocked.Load() && l.mu.TryLock() {
		l.unlock()
	}
}

// space is called when there is room again.
func (l *outlink) space() {
	l.mu.Lock()
	l.unlock()
}

// rest makes sure, after the last one has stopped spinning, that the pipe rings
// when there is room: pump has looked whether anybody spins after it had said
// that it is blocked and not armed.
func (l *outlink) rest() {
	if l.blocked.Load() && !l.armed.Load() {
		l.space()
	}
}

// flushed reports whether the other host has all that was to be written, or never will.
func (l *outlink) flushed() bool {
	l.mu.Lock()
	defer l.unlock()
	l.tidy()
	switch {
	case l.state > linkOpen:
		return true
	case l.current.busy() || len(l.control)+len(l.queue)+len(l.streams) > 0:
		return false
	case l.state < linkOpen:
		return true
	}
	n, err := l.pipe.Unsent()
	return n == 0 || err != nil
}
