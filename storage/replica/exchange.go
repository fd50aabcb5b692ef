package replica

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
)

// exchange is one operation's use of the store's communicator: messages of operations that follow
// each other have different tags.
type exchange struct {
	ctx      context.Context
	comm     *comm.Comm
	base     comm.Tag
	traffic  *traffic
	requests []comm.Request
	// agreed: the operation has ended with an error that all ranks know of.
	agreed bool
}

// refuse is an error that all ranks return, each in its own words.
func (x *exchange) refuse(err error) error {
	x.agreed = true
	return err
}

// The messages of an operation.
const (
	tagLengths comm.Tag = iota
	tagOffer
	tagData
	tagSums
	tagReply
	tags
)

// traffic counts what an operation has sent and received of data.
type traffic struct {
	messagesOut, messagesIn, bytesOut, bytesIn, direct atomic.Int64
}

func newExchange(ctx context.Context, c *comm.Comm, number uint64, t *traffic) *exchange {
	return &exchange{ctx: ctx, comm: c, base: comm.Tag(number%1024) * tags, traffic: t}
}

// send starts to send pieces of memory as one message; nothing if there are none.
func (x *exchange) send(dst comm.Rank, tag comm.Tag, pieces [][]byte) {
	n := total(pieces)
	if n == 0 {
		return
	}
	x.traffic.messagesOut.Add(1)
	x.traffic.bytesOut.Add(n)
	x.requests = append(x.requests, comm.Isendv(x.comm, dst, x.base+tag, pieces...))
}

// receive starts to receive such a message into pieces of memory.
func (x *exchange) receive(src comm.Rank, tag comm.Tag, pieces [][]byte) {
	n := total(pieces)
	if n == 0 {
		return
	}
	x.traffic.messagesIn.Add(1)
	x.traffic.bytesIn.Add(n)
	if len(pieces) == 1 {
		x.requests = append(x.requests, comm.Irecv(x.comm, src, x.base+tag, pieces[0]))
		return
	}
	x.requests = append(x.requests, comm.Itake(x.comm, src, x.base+tag, int(n), (&scatter{slices.Clone(pieces)}).take))
}

// wait waits for all that was started. After an error what has not completed is withdrawn.
func (x *exchange) wait() error {
	requests := x.requests
	x.requests = nil
	return comm.WaitAll(x.ctx, requests...)
}

// withdraw ends what was started, and returns why.
func (x *exchange) withdraw(why error) error {
	requests := x.requests
	x.requests = nil
	ctx, cancel := context.WithCancelCause(x.ctx)
	cancel(why)
	_ = comm.WaitAll(ctx, requests...) // that is why
	return why
}

func total(pieces [][]byte) (n int64) {
	for _, p := range pieces {
		n += int64(len(p))
	}
	return n
}

// scatter spreads a message over pieces of memory as it comes.
type scatter struct{ pieces [][]byte }

func (s *scatter) take(b []byte) {
	for len(b) > 0 && len(s.pieces) > 0 {
		n := copy(s.pieces[0], b)
		b = b[n:]
		if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
			s.pieces = s.pieces[1:]
		}
	}
}
