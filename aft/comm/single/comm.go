package single

import (
	"context"
	"slices"
	"sync"

	"github.com/craft-go/craft/aft/comm/driver"
)

const (
	// selfEager is the length up to which Self buffers a message.
	selfEager = 64 << 10
	// selfBudget bounds what it buffers in all.
	selfBudget = 4 << 20
)

// New is a communicator of one process: rank 0 of 1, which can send to itself.
func New() driver.Comm { return newComm() }

func newComm() *self { return &self{end: make(chan struct{})} }

type self struct {
	end      chan struct{} // closed when revoked
	ofJob    bool          // of the place of a session
	mu       sync.Mutex
	over     error          // why nothing is possible any more
	sends    []*selfRequest // not yet received, in the order they were sent
	recvs    []*selfRequest // not yet met, in the order they were posted
	buffered int
}

var (
	_ driver.Comm    = (*self)(nil)
	_ driver.Located = (*self)(nil)
)

type selfRequest struct {
	owner  *self
	tag    int
	data   []byte // of a send: what to send; of a receive: where to
	eager  bool   // data is a copy, the request has completed
	done   chan struct{}
	status driver.Status
	err    error
}

func (s *self) Rank() int    { return 0 }
func (s *self) Size() int    { return 1 }
func (s *self) Nodes() []int { return []int{0} }

func (s *self) Isend(_, tag int, data []byte) driver.Request {
	send := &selfRequest{owner: s, tag: tag, data: data, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return driver.FailedRequest(s.over)
	}
	i := slices.IndexFunc(s.recvs, func(r *selfRequest) bool { return driver.Matches(tag, r.tag) })
	if i >= 0 {
		recv := s.recvs[i]
		s.recvs = slices.Delete(s.recvs, i, i+1)
		deliver(send, recv)
		close(send.done)
		return send
	}
	if len(data) <= selfEager && s.buffered+len(data) <= selfBudget {
		s.buffered += len(data)
		send.data, send.eager = slices.Clone(data), true
		close(send.done)
	}
	s.sends = append(s.sends, send)
	return send
}

func (s *self) Irecv(_, tag int, buf []byte) driver.Request {
	recv := &selfRequest{owner: s, tag: tag, data: buf, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return driver.FailedRequest(s.over)
	}
	i := slices.IndexFunc(s.sends, func(r *selfRequest) bool { return driver.Matches(r.tag, tag) })
	if i < 0 {
		s.recvs = append(s.recvs, recv)
		return recv
	}
	send := s.sends[i]
	s.sends = slices.Delete(s.sends, i, i+1)
	deliver(send, recv)
	if send.eager {
		s.buffered -= len(send.data)
	} else {
		close(send.done)
	}
	return recv
}

// deliver completes the receive.
func deliver(send, recv *selfRequest) {
	recv.status = driver.Status{Source: 0, Tag: send.tag, Bytes: len(send.data)}
	if len(send.data) > len(recv.data) {
		recv.err = &driver.TruncatedError{Status: recv.status, Buffer: len(recv.data)}
	} else {
		copy(recv.data, send.data)
	}
	close(recv.done)
}

func (r *selfRequest) Wait(ctx context.Context) (driver.Status, error) {
	select {
	case <-r.done:
		return r.status, r.err
	default:
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		r.owner.withdraw(ctx, r)
	}
	return r.status, r.err
}

// withdraw completes r with the error of ctx, unless it has completed.
func (s *self) withdraw(ctx context.Context, r *selfRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range []*[]*selfRequest{&s.sends, &s.recvs} {
		if i := slices.Index(*queue, r); i >= 0 && !r.eager {
			*queue = slices.Delete(*queue, i, i+1)
			r.err = driver.Withdrawn(ctx)
			close(r.done)
		}
	}
}
