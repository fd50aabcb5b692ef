package memory

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// TestSpareGivesWay: spare copies, also those that are coming, give way to what else is written, of any checkpoint; after
// a failure they are what there is.
func TestSpareGivesWay(t *testing.T) {
	s := New(4 * extentSize)
	o, other := s.Of("a"), s.Of("b")
	write := func(w storage.PartWriter, err error, extents int) error {
		require.NoError(t, err)
		to := w
		if r, ok := w.(*receiver); ok {
			to = r.writer
		}
		_, err = to.Write(make([]byte, extents*extentSize))
		return err
	}
	spare := func(version uint64) storage.PartWriter {
		w, err := o.CreateSpare(context.Background(), keyOf(version, storage.KindCopy))
		require.NoError(t, write(w, err, 1))
		return w
	}
	own, err := o.create(t.Context(), keyOf(1, storage.KindPart))
	require.NoError(t, write(own, err, 1))
	require.NoError(t, own.Commit())
	require.NoError(t, spare(1).Commit())
	coming := spare(2)
	second, err := other.create(t.Context(), keyOf(1, storage.KindPart))
	require.NoError(t, write(second, err, 3))
	require.NoError(t, second.Commit())
	require.Equal(t, []storage.ObjectKey{keyOf(1, storage.KindPart)}, o.Inventory())
	require.ErrorIs(t, write(coming, nil, 1), ErrLimit)
	require.Error(t, coming.Commit())
	require.Empty(t, o.coming)
	require.True(t, o.GaveWay())
	require.False(t, o.GaveWay(), "it is told once")
	require.EqualValues(t, 4*extentSize, s.Usage().Used)

	w, err := o.CreateSpare(t.Context(), keyOf(1, storage.KindCopy))
	require.ErrorIs(t, write(w, err, 1), ErrLimit, "it does not make room for itself")
	require.NoError(t, w.Abort())

	other.Forget(keyOf(1, storage.KindPart).ID)
	require.NoError(t, spare(1).Commit())
	require.NoError(t, s.Rebind(nil, comm.Change{}))
	third, err := other.create(t.Context(), keyOf(3, storage.KindPart))
	require.ErrorIs(t, write(third, err, 3), ErrLimit)
	require.NoError(t, third.Abort())
	require.Len(t, o.Inventory(), 2)

	require.NoError(t, s.Close())
	require.Zero(t, s.Usage().Used)
}

// TestRoomOfSpareIsForAll: what is written at the same time, as the own part and a copy for another rank, has the room
// of spare copies, whichever of the two they give way to, those that are just being published as well.
func TestRoomOfSpareIsForAll(t *testing.T) {
	s := New(4 * extentSize)
	o := s.Of("a")
	data := make([]byte, extentSize+1) // two extents
	for v := uint64(1); v < 6000; v += 6 {
		var all sync.WaitGroup
		for k := range uint64(4) {
			w, err := o.CreateSpare(t.Context(), keyOf(v+k, storage.KindCopy))
			require.NoError(t, err)
			_, err = w.(*receiver).writer.Write(data[:1])
			require.NoError(t, err)
			switch k {
			case 0:
				require.NoError(t, w.Commit())
			case 1:
				all.Go(func() { _ = w.Commit() }) // it is there, or has given way
			}
		}
		var writers [2]*writer
		var errs [2]error
		for i := range writers {
			w, err := o.create(t.Context(), keyOf(v+4+uint64(i), storage.KindPart))
			require.NoError(t, err)
			writers[i] = w
			all.Go(func() { _, errs[i] = w.Write(data) })
		}
		all.Wait()
		for i, w := range writers {
			require.NoError(t, errs[i], "version %d", v)
			require.NoError(t, w.Abort())
		}
		require.Empty(t, o.Inventory())
		require.Zero(t, s.Usage().Used)
	}
	require.Empty(t, o.coming)
	require.NoError(t, s.Close())
}
