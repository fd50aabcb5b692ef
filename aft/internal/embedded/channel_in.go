package embedded

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

// inlink is the way from one process.
type inlink struct {
	wire *wire
	from control.Proc

	// mu is held by whoever reads, so that messages are delivered in order; the
	// receiver is called with it.
	mu     sync.Mutex
	pipe   *pipe.Reader
	ended  bool // nothing is read any more
	bye    bool
	failed error        // why it ended
	into   *instream    // what the piece belongs to that is arriving; nil: none is
	left   int          // of it
	unpaid atomic.Int64 // eager bytes that the receiver has not consumed
	owed   atomic.Int64 // those that it has, and the sender does not know of

	// armed: the writer rings when data has come. Otherwise somebody who spins
	// looks for it; see spin.
	armed atomic.Bool
	begun atomic.Bool // something has come

	// parts is held for moments only, and no other lock is taken with it.
	parts    sync.Mutex
	gone     bool                 // no message can begin any more
	waiting  map[uint64]*arrival  // announced, by send
	streams  map[uint64]*instream // being received, by recv
	lastSend uint64
	lastRecv uint64
}

var _ creditor = (*inlink)(nil)

func newInlink(w *wire, r *pipe.Reader) *inlink {
	return &inlink{
		wire: w, from: control.Proc(r.From()), pipe: r,
		waiting: make(map[uint64]*arrival), streams: make(map[uint64]*instream),
	}
}

// run reads until the pipe ends.
func (l *inlink) run() {
	_ = l.pipe.Run(l.attend)
	l.mu.Lock()
	if !l.ended {
		l.ended = true
		l.pipe.Abort()
	}
	failed := l.failed
	l.mu.Unlock()
	if failed != nil {
		l.wire.suspect(l.from, failed)
	}
}

// attend is called when data has come. It waits for its turn: the bell was for
// it alone.
func (l *inlink) attend() {
	l.mu.Lock()
	l.turn()
}

// look reads what has come, unless somebody else is doing that, and tells
// whether there was anything.
func (l *inlink) look() bool { return l.mu.TryLock() && l.turn() }

// rest makes sure, after the last one has stopped spinning, that the pipe rings.
// If somebody reads just now, turn does the same after it has released the lock.
func (l *inlink) rest() {
	if !l.armed.Load() {
		l.look()
	}
}

// turn reads what has come and releases the lock.
func (l *inlink) turn() (progress bool) {
	for {
		progress = l.read() || progress
		switch {
		case l.ended:
			l.armed.Store(true)
		case l.wire.spinning.Load() > 0:
			if l.armed.Load() {
				l.pipe.Wake()
				l.armed.Store(false)
			}
		default:
			l.armed.Store(true)
			if !l.pipe.Sleep() {
				continue
			}
		}
		l.mu.Unlock()
		if l.armed.Load() || l.wire.spinning.Load() > 0 || !l.mu.TryLock() {
			return progress
		}
	}
}

// read delivers everything that is there.
func (l *inlink) read() (progress bool) {
	for !l.ended {
		more, err := l.step()
		if err != nil {
			l.finish(err)
		}
		if !more {
			break
		}
		progress = true
	}
	return progress
}

// finish ends the link. An end without a goodbye is for the root to judge, unless it
// is that of a connection that its dialler did not know it had: it tries again.
func (l *inlink) finish(err error) {
	l.ended = true
	switch {
	case err == io.EOF && !l.begun.Load():
	case err == io.EOF && !l.bye:
		l.failed = errors.New("its connection has ended")
	case err != io.EOF && !errors.Is(err, pipe.ErrClosed):
		l.failed = err
	}
	l.pipe.Abort()
}

// step delivers one frame, or a part of its data; false if more must come first.
func (l *inlink) step() (bool, error) {
	if l.into != nil {
		return l.fill()
	}
	b, err := l.pipe.Peek(frameSize)
	if len(b) < frameSize {
		return false, err
	}
	if !l.begun.Load() {
		l.begun.Store(true)
	}
	f, err := decodeFrame(b)
	if err != nil {
		return false, err
	}
	if l.bye {
		return false, fmt.Errorf("%w: a frame after the last one: %+v", errFrame, f)
	}
	if f.kind == frameEager {
		return l.eager(f)
	}
	l.pipe.Discard(frameSize)
	return true, l.execute(f)
}

// eager delivers a message straight from where it has arrived.
func (l *inlink) eager(f frame) (bool, error) {
	need := frameSize + f.length
	b, err := l.pipe.Peek(need)
	if len(b) < need {
		return false, err
	}
	if l.unpaid.Add(int64(eagerPrice(f.length))) > wireWindow {
		return false, fmt.Errorf("%w: more than %d bytes that nobody has asked for", errFrame, wireWindow)
	}
	e := envelope{comm: f.comm, source: f.source, tag: f.tag, length: f.length}
	l.wire.cfg.Receiver.arrive(e, b[frameSize:need:need], l)
	l.pipe.Discard(need)
	return true, nil
}

// consumed: see creditor.
func (l *inlink) consumed(price int) {
	l.unpaid.Add(-int64(price))
	if l.owed.Add(int64(price)) < wireWindow/4 {
		return // the sender has most of its window: it can wait
	}
	if n := l.owed.Swap(0); n > 0 {
		l.wire.out(l.from).say(frame{kind: frameCredit, length: int(n)})
	}
}

// execute does what a frame without a message says.
func (l *inlink) execute(f frame) error {
	switch f.kind {
	case frameRTS:
		return l.announce(f)
	case frameData:
		return l.begin(f)
	case frameCancel:
		return l.withdraw(f.send)
	case frameNack:
		return l.giveBack(f.recv)
	case frameBye:
		l.bye = true
		return nil
	}
	// The others answer what this process has sent.
	out := l.wire.known(l.from)
	switch {
	case out == nil:
		return fmt.Errorf("%w: an answer to nothing: %+v", errFrame, f)
	case f.kind == frameCTS:
		return out.wanted(f)
	default:
		return out.granted(f.length)
	}
}

func (l *inlink) announce(f frame) error {
	a := &arrival{link: l, id: f.send, env: envelope{comm: f.comm, source: f.source, tag: f.tag, length: f.length}}
	l.parts.Lock()
	fresh := f.send > l.lastSend
	if fresh {
		l.lastSend = f.send
		l.waiting[f.send] = a
	}
	l.parts.Unlock()
	if !fresh {
		return fmt.Errorf("%w: a message announced twice: %+v", errFrame, f)
	}
	l.wire.cfg.Receiver.announce(a.env, a)
	return nil
}

// withdraw takes an announced message back. If a receive has been found for it,
// that goes back too, at once: messages that follow may be for it. The sender's
// answer to the request for data comes later and ends the stream.
func (l *inlink) withdraw(send uint64) error {
	var stream *instream
	l.parts.Lock()
	a := l.waiting[send]
	delete(l.waiting, send)
	if a == nil {
		for _, s := range l.streams {
			if s.send == send {
				stream = s
			}
		}
	}
	known := send <= l.lastSend
	l.parts.Unlock()
	switch {
	case !known:
		return fmt.Errorf("%w: message %d was not announced", errFrame, send)
	case a != nil:
		l.wire.cfg.Receiver.withdraw(a)
	case stream != nil:
		l.repost(stream)
	}
	return nil
}

// repost gives a receive back, unless it is complete. What has been taken cannot be
// taken again, but that happens only where the sender's communicator was revoked or given back.
func (l *inlink) repost(s *instream) {
	if s.got > 0 {
		s.cancel(driver.ErrRevoked)
	}
	if r := s.over(); r != nil {
		l.wire.cfg.Receiver.repost(r)
	}
}

// begin finds out where the data that follows belongs.
func (l *inlink) begin(f frame) error {
	l.parts.Lock()
	s := l.streams[f.recv]
	l.parts.Unlock()
	if s == nil || f.length > s.want-s.got || (f.length == 0 && s.want > 0) {
		return fmt.Errorf("%w: data that was not asked for: %+v", errFrame, f)
	}
	l.into, l.left = s, f.length
	return nil
}

// fill moves data to where it belongs.
func (l *inlink) fill() (bool, error) {
	s := l.into
	n, err := s.read(l.pipe, l.left)
	l.left -= n
	if l.left > 0 {
		return n > 0, err
	}
	l.into = nil
	if s.got < s.want {
		return true, nil
	}
	l.parts.Lock()
	delete(l.streams, s.id)
	l.parts.Unlock()
	s.finish()
	return true, nil
}

// giveBack: the sender had taken the message back before it was asked to send,
// or its communicator was revoked while it was sending.
func (l *inlink) giveBack(recv uint64) error {
	l.parts.Lock()
	s := l.streams[recv]
	delete(l.streams, recv)
	l.parts.Unlock()
	if s == nil {
		return fmt.Errorf("%w: receive %d is not waiting", errFrame, recv)
	}
	l.repost(s)
	return nil
}

// revoke ends what is being received for a communicator.
func (l *inlink) revoke(c control.CommID, why error) {
	l.parts.Lock()
	streams := slices.Collect(maps.Values(l.streams))
	l.parts.Unlock()
	for _, s := range streams {
		if s.env.comm == c {
			s.cancel(why)
		}
	}
}

// end delivers what has arrived, if anybody wants it, and forgets the process:
// what it has begun ends with the error that fits each.
func (l *inlink) end(deliver bool, why func(r *request) error) {
	l.mu.Lock()
	if deliver {
		l.read()
	}
	if !l.ended {
		l.ended = true
		l.pipe.Close()
	}
	l.mu.Unlock()

	l.parts.Lock()
	l.gone = true
	waiting, streams := l.waiting, l.streams
	l.waiting, l.streams = nil, nil
	l.parts.Unlock()
	for _, a := range waiting {
		l.wire.cfg.Receiver.lost(a.env, a)
	}
	for _, s := range streams {
		s.fail(why)
	}
}
