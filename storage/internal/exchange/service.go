package exchange

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// Handler is what a rank does for the others. Its methods are called
// concurrently, and should return soon after ctx has ended: it ends when the
// other rank gives up a stream or dies, or the service does. A writer that it returns is used
// by one goroutine. A name is whatever the other rank has said: check it.
type Handler interface {
	// Create stores a part for rank from.
	Create(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error)
	// Open reads a part for rank from: anew whenever there are questions about it.
	Open(ctx context.Context, from comm.Rank, name string) (storage.PartReader, error)
}

// Service brings parts from rank to rank. All methods may be called concurrently.
type Service struct {
	c       *comm.Comm
	handler Handler
	opts    Options
	buffers bufferPool          // of a block and its trailer
	peers   map[comm.Rank]*peer // all others

	ctx    context.Context // ends with the service, for the reason that all get
	cancel context.CancelCauseFunc

	serving sync.WaitGroup // the serving goroutine and those it starts
	calling sync.WaitGroup // those of streams of this rank, and calls that open one

	own    context.Context // of what this rank asks for: ends with ctx, and with Close
	endOwn context.CancelCauseFunc

	mu       sync.Mutex
	lastID   uint32
	allSaid  atomic.Bool // all others want nothing more
	closed   sync.Once
	closeErr error
}

// New starts a service on c, which nobody else may use: see comm.Comm.Dup. All ranks of c start
// one. It ends with Close, with ctx, or when c is revoked; Close must be called in any case.
func New(ctx context.Context, c *comm.Comm, h Handler, opts Options) *Service {
	s := &Service{c: c, handler: h, opts: opts.complete(), peers: make(map[comm.Rank]*peer)}
	s.buffers = bufferPool{size: s.opts.Block + trailerSize, keep: 4 * s.opts.Window}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.own, s.endOwn = context.WithCancelCause(s.ctx)
	for r := range comm.Rank(c.Size()) {
		if r != c.Rank() {
			s.peers[r] = newPeer(s, r)
		}
	}
	s.serving.Go(s.serve)
	return s
}

// Done is closed when the service has ended: it was closed, or its communicator
// has failed as a whole or was revoked. Nothing comes from the others any more.
func (s *Service) Done() <-chan struct{} { return s.ctx.Done() }

// WhenGone calls f, in a goroutine of its own, as soon as a rank gives nothing more to this
// one: it has failed, left or closed its service, or this service has ended. stop, to be called
// once, takes that back, or waits for f.
func (s *Service) WhenGone(rank comm.Rank, f func(why error)) (stop func()) {
	p := s.peers[rank]
	if p == nil {
		return func() {}
	}
	if s.hold() == nil {
		p.expectBye()
		s.calling.Done()
	}
	return whenDone(p.done, func() { f(context.Cause(p.done)) })
}

// whenDone is context.AfterFunc, but stop waits for f where it does not take it back.
func whenDone(ctx context.Context, f func()) (stop func()) {
	over := make(chan struct{})
	takeBack := context.AfterFunc(ctx, func() {
		defer close(over)
		f()
	})
	return func() {
		if !takeBack() {
			<-over
		}
	}
}

// Create starts a part that is stored at rank to. Write returns when the bytes are on their
// way; Commit returns nil when the part is stored there, as durable as the handler of that rank
// makes it. ctx is for the whole life of the writer: when it ends, the part is thrown away. If
// Commit fails because the answer did not come any more (ctx, a failed process), the part may
// be there all the same, but then it is whole. Write, Commit and Abort are for one goroutine.
func (s *Service) Create(ctx context.Context, to comm.Rank, name string) (storage.PartWriter, error) {
	return open(ctx, s, "create", to, name, s.handler.Create, createAt)
}

// Open looks for a part that rank to has. ReadAt may be called concurrently; where
// reads follow each other, what comes next is fetched before it is asked for. ctx
// is for the whole life of the reader. The other rank keeps nothing for it: a part that
// has gone meanwhile is an error of the next read.
func (s *Service) Open(ctx context.Context, to comm.Rank, name string) (storage.PartReader, error) {
	return open(ctx, s, "open", to, name, s.handler.Open, openAt)
}

// open begins a stream to another rank, or what the own handler has in its place.
func open[S any](ctx context.Context, s *Service, op string, to comm.Rank, name string,
	own func(context.Context, comm.Rank, string) (S, error), at func(context.Context, *peer, string) (S, error),
) (stream S, err error) {
	p, err := s.begin(ctx, to, name)
	if err == nil {
		defer s.calling.Done()
		if p == nil {
			stream, err = own(ctx, s.c.Rank(), name)
		} else {
			stream, err = at(ctx, p, name)
		}
	}
	if err != nil {
		var none S
		return none, &Error{Op: op, Rank: to, Name: name, Err: err}
	}
	return stream, nil
}

// Around runs body as the Options say, for what else is done in the background.
func (s *Service) Around(body func()) { s.opts.Around(body) }

// Serving reports whether streams of other ranks are open here, or answers are on their way.
func (s *Service) Serving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		if len(p.served) > 0 || len(p.lent) > 0 {
			return true
		}
	}
	return false
}

// begin checks what a stream is to be opened with, and keeps Close from going on
// until calling.Done. The peer is nil if to is this rank.
func (s *Service) begin(ctx context.Context, to comm.Rank, name string) (*peer, error) {
	switch {
	case to < 0 || int(to) >= s.c.Size():
		return nil, fmt.Errorf("%w: allowed are 0 to %d", comm.ErrRank, s.c.Size()-1)
	case name == "" || len(name) > MaxName:
		return nil, fmt.Errorf("%w: name of %d bytes, allowed are 1 to %d", ErrRequest, len(name), MaxName)
	case ctx.Err() != nil:
		return nil, comm.Withdrawn(ctx)
	}
	return s.peers[to], s.hold()
}

// hold keeps Close from going on until calling.Done.
func (s *Service) hold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := context.Cause(s.own)
	if err == nil {
		s.calling.Add(1)
	}
	return err
}

// Close ends the service. Streams of this rank that are still open are given up; those of other
// ranks go on until these ranks close their services too, have failed, or ctx ends: then the
// streams of others end with ErrClosed, and so does what they ask for later. Close waits for
// all goroutines of the service, also for what a handler is just doing. It returns the error of
// ctx if the others were not waited for. The second call does nothing.
func (s *Service) Close(ctx context.Context) error {
	s.closed.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Service) close(ctx context.Context) error {
	s.mu.Lock()
	s.endOwn(ErrClosed)
	var open []*writer
	for _, p := range s.peers {
		open = slices.AppendSeq(open, maps.Values(p.opened))
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer stop()
	for _, w := range open {
		w.abandon(ErrClosed)
	}
	s.calling.Wait() // for the answers of the other ranks
	err := s.sayBye(ctx)
	s.allSaid.Store(err == nil)
	s.cancel(ErrClosed)
	s.serving.Wait()
	s.buffers.empty()
	return err
}

// sayBye tells all others that this rank wants nothing more, and waits until they
// have said so or are gone.
func (s *Service) sayBye(ctx context.Context) error {
	sends := make(map[*peer]comm.Request)
	for _, p := range s.peers {
		p.expectBye()
		sends[p] = p.send(tagBye, nil)
	}
	for p, send := range sends {
		_, _ = send.Wait(p.ctx) // whatever the error is: that rank wants nothing more
		<-p.done.Done()
	}
	if ctx.Err() != nil {
		return comm.Withdrawn(ctx)
	}
	return nil
}
