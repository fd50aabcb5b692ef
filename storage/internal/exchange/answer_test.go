package exchange

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/storage"
)

// TestReadersHoldNothing: far more parts are read from at once than streams are allowed, and
// the other rank has none open when nobody asks.
func TestReadersHoldNothing(t *testing.T) {
	there := &memory{}
	for i := range 40 {
		there.put(fmt.Sprint(i), random(uint64(i), 5*small.Block+i))
	}
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		var all sync.WaitGroup
		for i := range 40 {
			read, err := r.s.Open(r.ctx, 1, fmt.Sprint(i))
			require.NoError(r.t, err)
			defer read.Close()
			all.Go(func() {
				got := make([]byte, read.Size())
				want, _ := there.get(fmt.Sprint(i))
				if _, err := read.ReadAt(got, 0); err != nil || !bytes.Equal(want, got) {
					r.t.Errorf("part %d differs, error %v", i, err)
				}
			})
		}
		all.Wait()
		require.Eventually(r.t, func() bool { return there.used() == 0 }, patience, time.Millisecond)
	})
}

// TestTooManyQuestions: who asks on without an answer is refused, and what is kept for it is
// bounded.
func TestTooManyQuestions(t *testing.T) {
	over := make(chan struct{})
	there := &memory{read: func(string, int64) error { <-over; return nil }}
	there.put("lent", make([]byte, 10))
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			r.hear(0)
			r.s.buffers.mu.Lock()
			defer r.s.buffers.mu.Unlock()
			require.LessOrEqual(r.t, r.s.buffers.out, small.Streams*small.Window)
			return
		}
		defer close(over)
		allowed := uint32(small.Streams * small.Window)
		answer := make([]byte, noteSize)
		refused := comm.Irecv(r.c, 1, answerTag(allowed), answer)
		for id := range allowed + 1 {
			q := request{kind: requestRead, id: id, n: 10, name: "lent"}
			require.NoError(r.t, comm.Send(r.ctx, r.c, 1, tagRequest, q.encode()))
		}
		st, err := refused.Wait(r.ctx)
		require.NoError(r.t, err)
		f, err := parseFrame(answer[:st.Bytes], allowed, 0)
		require.NoError(r.t, err)
		require.ErrorIs(r.t, parseError(f.payload), ErrBusy)
		r.tell(1)
	})
}

// TestLateAnswerIsNoOtherQuestions: a service that has ended early may still answer a question
// that nobody waits for any more; another question with that number is not answered by it.
func TestLateAnswerIsNoOtherQuestions(t *testing.T) {
	reading, over := make(chan struct{}, 100), make(chan struct{})
	there := &memory{read: func(string, int64) error { reading <- struct{}{}; <-over; return nil }}
	there.put("one", random(1, small.Block))
	there.put("two", random(2, small.Block))
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			r.hear(0)
			require.ErrorIs(r.t, r.s.Close(ended), context.Canceled)
			r.tell(0)
			r.hear(0)
			return
		}
		one, err := r.s.Open(r.ctx, 1, "one")
		require.NoError(r.t, err)
		two, err := r.s.Open(r.ctx, 1, "two")
		require.NoError(r.t, err)
		failed := make(chan error, 1)
		go func() {
			_, err := one.ReadAt(make([]byte, small.Block), 0)
			failed <- err
		}()
		<-reading
		r.tell(1)
		require.ErrorIs(r.t, <-failed, ErrClosed)
		close(over)
		r.hear(1) // its service has ended, all that it had to say is said
		for range cap(r.s.peers[1].places) + 1 {
			got := make([]byte, small.Block)
			_, err := two.ReadAt(got, 0)
			require.ErrorIs(r.t, err, ErrClosed, "%x is of part one: %t", got[:8], string(got) == string(random(1, small.Block)))
		}
		require.NoError(r.t, one.Close())
		require.NoError(r.t, two.Close())
		r.tell(1)
	})
}

// TestDamagedQuestions: one that the other rank cannot read, wherever the damage is, is an error of
// who has asked, and the next one is as good as new.
func TestDamagedQuestions(t *testing.T) {
	there := &memory{}
	data := random(1, 5*large.Block)
	there.put("lent", data)
	playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
		var at atomic.Int32
		at.Store(-1)
		s := New(r.ctx, r.dup(func(tag comm.Tag, data []byte) []byte {
			if tag != tagRequest || data[4] != requestRead {
				return data
			}
			if i := at.Swap(-1); i >= 0 {
				data = bytes.Clone(data)
				data[i] ^= 4
			}
			return data
		}), r.memory, large)
		defer func() {
			require.NoError(r.t, s.Close(r.ctx))
			require.Zero(r.t, s.buffers.out)
		}()
		if r.c.Rank() == 1 {
			return
		}
		read, err := s.Open(r.ctx, 1, "lent")
		require.NoError(r.t, err)
		defer read.Close()
		got := make([]byte, len(data))
		for i := range requestHeader + len("lent") + 4 {
			at.Store(int32(i))
			_, err := read.ReadAt(got, 0)
			require.ErrorIs(r.t, err, ErrTransfer, "byte %d", i)
			_, err = read.ReadAt(got, 0)
			require.NoError(r.t, err)
			require.Equal(r.t, data, got)
		}
	})
}

// lingering is a communicator whose sends are taken for over only when it is told.
type lingering struct {
	driver.Comm
	over <-chan struct{}
}

type lingeringSend struct {
	driver.Request
	over <-chan struct{}
}

func (l lingering) Isend(dst, tag int, data []byte) driver.Request {
	return lingeringSend{l.Comm.Isend(dst, tag, data), l.over}
}

func (s lingeringSend) Wait(ctx context.Context) (driver.Status, error) {
	select {
	case <-s.over:
	case <-ctx.Done():
	}
	return s.Request.Wait(ctx)
}

// TestMissingPartIsLookedForAgain: that a part was not there is not kept in mind until the answer
// that said so is known to have come.
func TestMissingPartIsLookedForAgain(t *testing.T) {
	there := &memory{}
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		d, err := r.f.Driver().(driver.Maker).Split(0, int(r.c.Rank()), driver.Options{}).Wait(r.ctx)
		require.NoError(r.t, err)
		over := make(chan struct{})
		if r.c.Rank() == 1 {
			d = lingering{d, over}
		}
		s := New(r.ctx, comm.New(d), r.memory, small)
		defer func() { require.NoError(r.t, s.Close(r.ctx)) }()
		if r.c.Rank() == 1 {
			r.hear(0)
			close(over)
			return
		}
		_, err = s.Open(r.ctx, 1, "late")
		require.ErrorIs(r.t, err, storage.ErrNotFound)
		there.put("late", make([]byte, 10))
		read, err := s.Open(r.ctx, 1, "late")
		r.tell(1)
		require.NoError(r.t, err)
		require.NoError(r.t, read.Close())
	})
}
