package replica

import (
	"bytes"
	"context"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// tagPlain is the tag of plain sends: both ends take them in the order of the plan.
const tagPlain comm.Tag = 7

// memory is what plain transfers read and write. All of it was touched.
type memory struct{ have, room []byte }

// reserve makes it large enough for a plan.
func (m *memory) reserve(p plan) {
	have, room := p.memory()
	for _, s := range []struct {
		buf  *[]byte
		want int
	}{{&m.have, have}, {&m.room, room}} {
		if len(*s.buf) < s.want {
			*s.buf = bytes.Repeat([]byte{1}, s.want)
		}
	}
}

// plain measures the transfers of a plan: the receives are posted before the clock starts.
func (j *job) plain(ctx context.Context, p plan) (time.Duration, error) {
	m, me := &j.memory, int(j.c.Rank())
	m.reserve(p)
	var requests []comm.Request
	for _, t := range p {
		if t.to == me && t.from != me {
			requests = append(requests, comm.Irecv(j.c, comm.Rank(t.from), tagPlain, m.room[t.dst:t.dst+t.bytes]))
		}
	}
	return j.timed(ctx, func() error {
		for _, t := range p {
			if t.from == me && t.to != me {
				requests = append(requests, comm.Isend(j.c, comm.Rank(t.to), tagPlain, m.have[t.src:t.src+t.bytes]))
			}
		}
		for _, t := range p {
			if t.from == me && t.to == me {
				copy(m.room[t.dst:], m.have[t.src:t.src+t.bytes])
			}
		}
		return comm.WaitAll(ctx, requests...)
	})
}

// timed measures from the first rank that has left a barrier until the last one has ended. The
// clock is the host's: those of several hosts must agree.
func (j *job) timed(ctx context.Context, f func() error) (time.Duration, error) {
	if err := comm.Barrier(ctx, j.c); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return 0, err
	}
	took := []int64{-began.UnixNano(), time.Now().UnixNano()}
	if err := comm.Allreduce(ctx, j.c, took, took, comm.Max[int64]); err != nil {
		return 0, err
	}
	return time.Duration(took[0] + took[1]), nil
}
