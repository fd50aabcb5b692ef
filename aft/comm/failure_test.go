package comm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

// plain hides all that Self can beside Comm.
type plain struct{ comm.Comm }

func TestPlainCommunicatorsSupportNothing(t *testing.T) {
	c, ctx := plain{comm.Self()}, t.Context()
	require.Empty(t, comm.Failed(c))
	require.Empty(t, comm.Acknowledge(c))
	require.ErrorIs(t, comm.Revoke(c), comm.ErrUnsupported)
	_, err := comm.Agree(ctx, c, 1)
	require.ErrorIs(t, err, comm.ErrUnsupported)
	for name, make := range makers() {
		made, err := make(ctx, c)
		require.ErrorIs(t, err, comm.ErrUnsupported, name)
		require.Nil(t, made, name)
	}
	require.NoError(t, comm.Lease(c))
	comm.OnRepair(c, func(context.Context) error { return nil })()
}

func makers() map[string]func(context.Context, comm.Comm) (comm.Comm, error) {
	return map[string]func(context.Context, comm.Comm) (comm.Comm, error){
		"Shrink": comm.Shrink,
		"Dup":    comm.Dup,
		"Split":  func(ctx context.Context, c comm.Comm) (comm.Comm, error) { return comm.Split(ctx, c, 1, 0) },
		"Spawn": func(ctx context.Context, c comm.Comm) (comm.Comm, error) {
			return comm.Spawn(ctx, c, []comm.OriginalRank{0})
		},
	}
}

// witness answers with what it was asked.
type witness struct {
	comm.Comm
	comm.Revoker
	lost    error
	missing []comm.OriginalRank
	split   [2]int
	hooks   int
}

func (w *witness) Failed() []comm.Rank      { return []comm.Rank{2, 5} }
func (w *witness) Acknowledge() []comm.Rank { return []comm.Rank{2} }
func (w *witness) Lease() error             { return w.lost }

func (w *witness) Shrink(context.Context) (comm.Comm, error) { return w, nil }

func (w *witness) Split(_ context.Context, color, key int) (comm.Comm, error) {
	w.split = [2]int{color, key}
	return w, nil
}

func (w *witness) Spawn(_ context.Context, missing []comm.OriginalRank) (comm.Comm, error) {
	w.missing = missing
	return w, nil
}

func (w *witness) OnRepair(func(context.Context) error) func() {
	w.hooks++
	return func() { w.hooks-- }
}

func TestFunctionsAskTheCommunicator(t *testing.T) {
	w, ctx := &witness{Comm: comm.Self(), lost: comm.ErrFenced}, t.Context()
	require.Equal(t, []comm.Rank{2, 5}, comm.Failed(w))
	require.Equal(t, []comm.Rank{2}, comm.Acknowledge(w))
	require.ErrorIs(t, comm.Lease(w), comm.ErrFenced)
	for name, make := range makers() {
		made, err := make(ctx, w)
		require.NoError(t, err, name)
		require.Same(t, w, made, name)
	}
	require.Equal(t, []comm.OriginalRank{0}, w.missing)
	_, err := comm.Split(ctx, w, 3, -4)
	require.NoError(t, err)
	require.Equal(t, [2]int{3, -4}, w.split)
	_, err = comm.Dup(ctx, w)
	require.NoError(t, err)
	require.Equal(t, [2]int{0, 0}, w.split, "Dup: one color, ordered by rank")
	remove := comm.OnRepair(w, nil)
	require.Equal(t, 1, w.hooks)
	remove()
	require.Zero(t, w.hooks)
}

func TestSelfRevoked(t *testing.T) {
	ctx, c := t.Context(), comm.Self()
	other, err := comm.Dup(ctx, c)
	require.NoError(t, err)
	recv := comm.Irecv(c, 0, 1, make([]byte, 1))
	wild := comm.Irecv(c, comm.AnySource, 2, make([]byte, 1))
	eager := comm.Isend(c, 0, 3, []byte{1})
	large := comm.Isend(c, 0, 4, make([]byte, 1<<20))

	require.NoError(t, comm.Revoke(c))
	require.NoError(t, comm.Revoke(c), "again")
	<-c.(comm.Revoker).Revoked()
	for _, r := range []comm.Request{recv, wild, large} {
		_, err := r.Wait(ctx)
		require.ErrorIs(t, err, comm.ErrRevoked)
	}
	_, err = eager.Wait(ctx)
	require.NoError(t, err, "it was complete")

	require.ErrorIs(t, comm.Send(ctx, c, 0, 1, []byte{1}), comm.ErrRevoked)
	_, _, err = comm.Recv(ctx, c, 0, 3, make([]byte, 1))
	require.ErrorIs(t, err, comm.ErrRevoked, "a message of before")
	_, err = comm.Dup(ctx, c)
	require.ErrorIs(t, err, comm.ErrRevoked)
	flags, err := comm.Agree(ctx, c, 6)
	require.NoError(t, err)
	require.EqualValues(t, 6, flags)

	for _, c := range []comm.Comm{other, shrunk(t, c)} {
		require.NoError(t, comm.Send(ctx, c, 0, 1, []byte{7}))
		var b [1]byte
		_, _, err = comm.Recv(ctx, c, 0, 1, b[:])
		require.NoError(t, err)
		require.EqualValues(t, 7, b[0])
	}
}

func shrunk(t *testing.T, c comm.Comm) comm.Comm {
	s, err := comm.Shrink(t.Context(), c)
	require.NoError(t, err)
	return s
}

func TestSelfAlone(t *testing.T) {
	ctx, c := t.Context(), comm.Self()
	require.Empty(t, comm.Failed(c))
	require.Empty(t, comm.Acknowledge(c))
	_, err := comm.Spawn(ctx, c, []comm.OriginalRank{0})
	require.ErrorIs(t, err, comm.ErrUnsupported)
	none, err := comm.Split(ctx, c, -1, 0)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, comm.Send(ctx, c, 0, 1, []byte{1}))
	dup, err := comm.Dup(ctx, c)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = comm.Recv(ended, dup, comm.AnySource, comm.AnyTag, make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled, "messages of the two are apart")
}
