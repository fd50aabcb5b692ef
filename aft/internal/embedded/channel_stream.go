package embedded

import (
	"sync"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/pipe"
)

// arrival is a message that its sender has announced.
type arrival struct {
	link *inlink
	id   uint64 // as the sender calls it
	env  envelope
}

var _ announced = (*arrival)(nil)

func (a *arrival) into(r *receive) inbound {
	s := &instream{link: a.link, send: a.id, env: a.env, receive: r, want: a.env.length}
	if a.env.length > r.room() {
		s.want = 0
	}
	return s
}

// start asks the sender for the data. If it has taken the message back
// meanwhile, the receive is not used up.
func (s *instream) start() {
	l := s.link
	l.parts.Lock()
	_, waits := l.waiting[s.send]
	gone := l.gone
	if waits {
		delete(l.waiting, s.send)
		l.lastRecv++
		s.id = l.lastRecv
		l.streams[s.id] = s
	}
	l.parts.Unlock()
	switch {
	case waits:
		l.wire.out(l.from).say(frame{kind: frameCTS, send: s.send, recv: s.id, length: s.want})
	case gone:
		s.fail((*request).failedError)
	default:
		l.repost(s)
	}
}

// refuse forgets the message. The sender is not told by this one: it will hear
// from the root that the communicator is revoked or that this process has left,
// and until then its send waits.
func (a *arrival) refuse() {
	l := a.link
	l.parts.Lock()
	defer l.parts.Unlock()
	delete(l.waiting, a.id)
}

// instream is a message whose data is arriving.
type instream struct {
	link *inlink
	id   uint64
	send uint64 // as the sender calls it
	env  envelope
	want int // bytes; 0 of a message that does not fit
	got  int // bytes; of whoever reads the link

	mu      sync.Mutex
	receive *receive // nil: it is over, and data that comes is dropped
}

var _ inbound = (*instream)(nil)

// read moves up to n bytes, at most a wirePiece, into the receive, or drops them.
func (s *instream) read(p *pipe.Reader, n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.receive != nil && s.receive.take == nil {
		n, err = p.TryRead(s.receive.buf[s.got : s.got+n])
	} else {
		var b []byte
		b, err = p.Peek(1)
		n = min(n, len(b))
		if s.receive != nil && n > 0 {
			s.receive.take(b[:n])
		}
		p.Discard(n)
	}
	s.got += n
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// over takes the receive out, unless that was done: whoever gets it completes it or gives
// it back.
func (s *instream) over() *receive {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.receive
	s.receive = nil
	return r
}

// finish completes the receive when all data has come.
func (s *instream) finish() {
	r := s.over()
	if r == nil {
		return
	}
	status := driver.Status{Source: s.env.source, Tag: s.env.tag, Bytes: s.env.length}
	var err error
	if s.want < s.env.length {
		err = &driver.TruncatedError{Status: status, Buffer: r.room()}
	}
	r.request.complete(status, err)
}

func (s *instream) fail(why func(r *request) error) {
	if r := s.over(); r != nil {
		r.request.complete(driver.Status{}, why(r.request))
	}
}

// cancel: see inbound.
func (s *instream) cancel(err error) { s.fail(func(*request) error { return err }) }
