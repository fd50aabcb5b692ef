package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// Store is one rank's part in a store of replicated blocks. It lasts from one attempt of a zone to the
// next. Its operations are collective: all ranks start the same ones in the same order. They are
// carried out in that order, and may be started by any goroutine.
type Store struct {
	name        string
	options     Options
	incarnation uint64 // a random number
	mem         *memory
	line        line
	nearby      nearby
	life        sync.Mutex // held by Open and Close

	mu   sync.Mutex // of what follows; operations alone change it, and Open
	comm *comm.Comm // of its own; nil: it is not bound
	// original and incarnations are those of the ranks.
	original     []comm.OriginalRank
	incarnations []uint64
	places       *Places
	number       uint64   // of the last version that was begun
	current      *version // nil: none
	next         *version // whole here, and not known to be on all others
	remove       func()   // of the hook of the session
	met          bool     // Open has ended well before
	closed       bool
	stats        statistics
}

var _ comm.Keeper = (*Store)(nil)

// start begins an operation.
func (s *Store) start(ctx context.Context, run func(x *exchange) error) *Request {
	return s.line.start(ctx, func(ctx context.Context, b binding, number uint64) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer b.watch(cancel)()
		x := newExchange(ctx, b.comm, number, new(traffic))
		err := run(x)
		if err == nil || x.agreed {
			return err
		}
		s.line.stop(ErrUnbound) // the others may have come further: what there is is found out by Open
		if cause := context.Cause(ctx); cause != nil {
			return cause // a failure, where a rank that has seen it has withdrawn what others wait for
		}
		return err
	})
}

// settled agrees with all ranks on whether all is well: if not, each gets its own error or that of
// another rank. most is the largest of each value that ranks have given.
func (s *Store) settled(x *exchange, own error, values ...int64) (most []int64, err error) {
	if x.ctx.Err() != nil {
		return nil, context.Cause(x.ctx)
	}
	mine := append([]int64{int64(severity(own))<<32 | int64(x.comm.Rank())}, values...)
	all := make([]int64, len(mine))
	if err := comm.Allreduce(x.ctx, x.comm, mine, all, comm.Max[int64]); err != nil {
		return nil, err
	}
	switch kind := all[0] >> 32; {
	case own != nil:
		return nil, x.refuse(own)
	case kind > 0:
		return nil, x.refuse(fmt.Errorf("%w (on rank %d, whose own error says more)", reasons[kind], int32(all[0])))
	}
	return all[1:], nil
}

// reasons are why a rank cannot go on, as far as others need to know.
var reasons = []error{nil, errors.New("replica: a rank could not take part"), ErrRange, ErrBlocks, ErrMemory, ErrLost}

func severity(err error) int {
	if err == nil {
		return 0
	}
	for i := len(reasons) - 1; i > 1; i-- {
		if errors.Is(err, reasons[i]) {
			return i
		}
	}
	return 1
}

// hold keeps a version that is whole here until it is known whether it is on all others.
func (s *Store) hold(v *version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		s.next.free(s.mem)
	}
	s.next = v
}

// adopt makes a version, which is whole on all ranks, the one that there is.
func (s *Store) adopt(v *version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current != v {
		s.current.free(s.mem)
	}
	s.current, s.next, s.number = v, nil, v.number
}

// read returns the present version.
func (s *Store) read() (*version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, ErrEmpty
	}
	return s.current, nil
}

// Version is the number of the version that there is; 0: none.
func (s *Store) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.number
}

// Blocks is the number of blocks of the present version.
func (s *Store) Blocks() int64 {
	v, err := s.read()
	if err != nil {
		return 0
	}
	return v.layout.geo.n
}

// Lost are the blocks of the present version of which no copy is left.
func (s *Store) Lost() []Range {
	v, err := s.read()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return v.layout.lostBlocks()
}

// Rebind implements comm.Keeper: the store is of use again after the next Open.
func (s *Store) Rebind(*comm.Comm, comm.Change) error {
	s.unbind(ErrUnbound)
	return nil
}

// unbind ends what is under way and gives the communicator back.
func (s *Store) unbind(why error) {
	if s.isClosed() {
		why = ErrClosed
	}
	s.line.shut(why)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nearby.leave()
	if s.comm != nil {
		s.comm.Free()
	}
	s.comm = nil
	if s.remove != nil {
		s.remove()
	}
	s.remove = nil
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close gives the store's memory back. It is local, and is called by the session at the end of
// the rank's part in the job, if it was not before. A rank that has closed its store and calls Open with
// the others joins them as one that replaces another does, with nothing.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	s.unbind(ErrClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, v := range []*version{s.current, s.next} {
		if v != nil {
			v.free(s.mem)
		}
	}
	s.current, s.next = nil, nil
	return s.mem.trim()
}

func (s *Store) count(o *Operations, x *exchange, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Calls++
	o.Time += time.Since(began)
	o.MessagesSent += x.traffic.messagesOut.Load()
	o.MessagesReceived += x.traffic.messagesIn.Load()
	o.BytesSent += x.traffic.bytesOut.Load()
	o.BytesReceived += x.traffic.bytesIn.Load()
	o.BytesDirect += x.traffic.direct.Load()
}

// note counts copies that were found damaged, and those that were made anew.
func (s *Store) note(damaged, mended int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.damaged += damaged
	s.stats.mended += mended
}
