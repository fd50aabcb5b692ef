package exchange

import (
	"context"
	"errors"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// ended is a context that has ended: to wait with it gives a request up.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// serve takes the requests of all ranks until the service ends. It never waits
// for a handler or for another rank.
func (s *Service) serve() {
	buf := make([]byte, maxRequest)
	err := s.takeRequests(s.ctx, buf)
	alive := s.ctx.Err() != nil // it has been ended, the communicator has not
	s.cancel(err)
	switch {
	case s.allSaid.Load():
		_ = s.takeRequests(ended, buf) // cancels that have crossed the end of their streams
	case alive:
		s.tellGone()
	}
}

// takeRequests returns why there can be no more.
func (s *Service) takeRequests(ctx context.Context, buf []byte) error {
	for {
		st, err := comm.Irecv(s.c, comm.AnySource, tagRequest, buf).Wait(ctx)
		switch {
		case err == nil:
			s.take(st.Source, buf[:st.Bytes])
		case errors.Is(err, comm.ErrTruncated):
			s.take(st.Source, nil)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, comm.ErrProcFailed):
			if err := s.lose(err); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (s *Service) take(from comm.Rank, message []byte) {
	p := s.peers[from]
	r, err := parseRequest(message)
	if p == nil || err != nil {
		s.opts.Log.Warn("request makes no sense", "rank", from, "error", err)
	}
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.heard++; err != nil { // if it was a question, this is its number, and somebody waits
		p.reject(p.heard, answerTag(p.heard), ErrTransfer)
		return
	}
	switch r.kind {
	case requestCancel:
		if cancel := p.served[slotOf(r.id)]; cancel != nil {
			cancel(context.Canceled)
		}
	case requestGone:
		p.cancel(ErrClosed)
	case requestCreate:
		p.host(r)
	default:
		p.lend(r)
	}
}

// host gives a stream to a goroutine of its own. The service's lock is held.
func (p *peer) host(r request) {
	s := p.s
	_, twice := p.served[slotOf(r.id)]
	switch {
	case twice:
		s.opts.Log.Warn("stream is asked for twice", "rank", p.rank, "stream", r.id)
	case len(p.served) >= s.opts.Streams:
		p.reject(r.id, replyTag(r.id), ErrBusy)
	default:
		v := &visit{p: p, request: r, block: min(r.n, s.opts.Block)}
		v.ctx, v.cancel = context.WithCancelCause(p.ctx)
		p.served[slotOf(r.id)] = v.cancel
		s.serving.Go(v.run)
	}
}

// reject says why a request is not served, behind what was said before, because even that can take
// time. A rank that does not stop at that is not even answered: it has more requests under way than
// a Service of any options makes, of which each is answered, however many are damaged or too many here.
func (p *peer) reject(id uint32, tag comm.Tag, why error) {
	if p.refused.waiting >= maxStreams*(1+maxWindow) {
		p.s.opts.Log.Warn("too many requests, this one is not answered", "rank", p.rank, "number", id)
		return
	}
	p.refused.waiting++
	p.refused.queue.add(&p.s.serving, func() {
		p.refused.sending <- struct{}{}
		p.s.mu.Lock()
		p.refused.waiting-- // first: with the answer the other rank may ask on
		p.s.mu.Unlock()
		sent := p.send(tag, sealed(encodeError(why), frameFinal, id, 0))
		p.s.serving.Go(func() {
			_, _ = sent.Wait(p.ctx)
			<-p.refused.sending
		})
	})
}

// lose notes ranks that have failed. It returns err if that is nothing new, so
// that nobody asks for ever. When nobody is left it waits for the end.
func (s *Service) lose(err error) error {
	var failure *comm.FailedError
	if !errors.As(err, &failure) {
		return err
	}
	// Others may have failed since: they are acknowledged, too, and no receive says so again.
	failed := append(s.c.Acknowledge(), failure.Ranks...)
	news := false
	for _, r := range failed {
		if p := s.peers[r]; p != nil && !p.failed {
			news, p.failed = true, true
			p.cancel(&comm.FailedError{Ranks: []comm.Rank{r}})
		}
	}
	if !news {
		return err
	}
	for _, p := range s.peers {
		if !p.failed {
			return nil
		}
	}
	return s.remainAlone()
}

// remainAlone waits for the end of a service that has nobody else to serve.
func (s *Service) remainAlone() error {
	select {
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-s.c.Revoked():
		return comm.ErrRevoked
	}
}

// goneWait bounds how long a service that is ended early waits for its last
// words to leave. They are small: they wait only where a peer's mailbox is full.
const goneWait = time.Second

// tellGone tells the others that they wait in vain.
func (s *Service) tellGone() {
	ctx, stop := context.WithTimeout(context.Background(), goneWait)
	defer stop()
	gone := request{kind: requestGone}.encode()
	var sends []comm.Request
	for _, p := range s.peers {
		sends = append(sends, p.send(tagRequest, gone))
	}
	for _, r := range sends {
		_, _ = r.Wait(ctx) // who has failed need not know
	}
}
