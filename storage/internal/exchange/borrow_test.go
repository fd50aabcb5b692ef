package exchange

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// TestBorrow: what was borrowed may be changed after GiveBack, and, however much of it is
// under way, after Abort; its order with what is written is kept.
func TestBorrow(t *testing.T) {
	for _, opts := range []Options{small, large} {
		play(t, 2, opts, func(r *trial) {
			if r.c.Rank() == 1 {
				return
			}
			data := random(5, 5*opts.Block+77)
			var want []byte
			w, err := r.s.Create(r.ctx, 1, "kept")
			require.NoError(r.t, err)
			for i := range 3 {
				_, err := w.Write(data[:1000+i])
				require.NoError(r.t, err)
				require.NoError(r.t, storage.Borrow(w, data))
				want = append(append(want, data[:1000+i]...), data...)
				require.NoError(r.t, storage.GiveBack(w))
				data[i*opts.Block]++
			}
			require.NoError(r.t, w.Commit())
			got, _ := r.memories[1].get("kept")
			require.True(r.t, bytes.Equal(want, got))

			w, err = r.s.Create(r.ctx, 1, "dropped")
			require.NoError(r.t, err)
			require.NoError(r.t, storage.Borrow(w, data))
			require.NoError(r.t, w.Abort())
			clear(data)
			_, stored := r.memories[1].get("dropped")
			require.False(r.t, stored)
		})
	}
}

// taking is a handler whose writers use what is borrowed where it arrives.
type taking struct {
	memory

	bytes atomic.Int64
}

func (h *taking) Create(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error) {
	w, err := h.memory.Create(ctx, from, name)
	return &taker{w, h}, err
}

type taker struct {
	storage.PartWriter

	h *taking
}

var _ Expecter = (*taker)(nil)

func (w *taker) Expect(int) (take func([]byte), got func(), err error) {
	return func(p []byte) { w.h.bytes.Add(int64(len(p))) }, func() {}, nil
}

// TestAroundOnlyWhatIsStored: what is used where it arrives gives the goroutines inside of
// Around nothing to do, whose threads may each time be bound to their processors.
func TestAroundOnlyWhatIsStored(t *testing.T) {
	var around atomic.Int64
	opts := small
	opts.Around = func(body func()) { around.Add(1); body() }
	var h taking
	err := new(afttest.Cluster).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
		c := r.Comm()
		s := New(ctx, c, &h, opts)
		defer s.Close(ctx)
		if c.Rank() == 1 {
			return nil
		}
		w, err := s.Create(ctx, 1, "part")
		require.NoError(t, err)
		require.NoError(t, storage.Borrow(w, make([]byte, 20*opts.Block)))
		require.NoError(t, storage.GiveBack(w))
		return w.Commit()
	})
	require.NoError(t, err)
	require.Equal(t, int64(20*opts.Block), h.bytes.Load())
	require.Equal(t, int64(2), around.Load(), "the beginning and the end")
}
