package exchange

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

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
			got, _ := r.shelves[1].get("kept")
			require.True(r.t, bytes.Equal(want, got))

			w, err = r.s.Create(r.ctx, 1, "dropped")
			require.NoError(r.t, err)
			require.NoError(r.t, storage.Borrow(w, data))
			require.NoError(r.t, w.Abort())
			clear(data)
			_, stored := r.shelves[1].get("dropped")
			require.False(r.t, stored)
		})
	}
}
