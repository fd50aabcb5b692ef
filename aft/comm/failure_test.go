package comm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/comm/single"
)

// plain hides all that an engine can beside the least.
type plain struct{ driver.Comm }

func TestPlainCommunicatorsSupportNothing(t *testing.T) {
	c, ctx := comm.New(plain{single.New()}), t.Context()
	require.Empty(t, c.Failed())
	require.Empty(t, c.Acknowledge())
	require.Nil(t, c.FailureKnown())
	require.ErrorIs(t, c.Revoke(), comm.ErrUnsupported)
	require.Nil(t, c.Revoked())
	_, err := c.Agree(ctx, 1)
	require.ErrorIs(t, err, comm.ErrUnsupported)
	for name, make := range makers() {
		made, err := make(ctx, c)
		require.ErrorIs(t, err, comm.ErrUnsupported, name)
		require.Nil(t, made, name)
	}
	require.NoError(t, c.Lease())
	c.Free()
	var got []byte
	taken := comm.Itake(c, 0, 1, 3, func(piece []byte) { got = append(got, piece...) })
	_, err = comm.Isendv(c, 0, 1, []byte{1}, []byte{2}).Wait(ctx)
	require.NoError(t, err)
	_, err = taken.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2}, got)
}

func makers() map[string]func(context.Context, *comm.Comm) (*comm.Comm, error) {
	return map[string]func(context.Context, *comm.Comm) (*comm.Comm, error){
		"Shrink": func(ctx context.Context, c *comm.Comm) (*comm.Comm, error) { return c.Shrink(ctx) },
		"Dup":    func(ctx context.Context, c *comm.Comm) (*comm.Comm, error) { return c.Dup(ctx) },
		"Split":  func(ctx context.Context, c *comm.Comm) (*comm.Comm, error) { return c.Split(ctx, 1, 0) },
		"Spawn": func(ctx context.Context, c *comm.Comm) (*comm.Comm, error) {
			return c.Spawn(ctx, []comm.OriginalRank{0})
		},
	}
}

// witness is an engine that answers with what it was asked.
type witness struct {
	driver.Comm
	driver.Revoker
	missing []int
	split   [2]int
	freed   bool
}

func (w *witness) Rank() int                           { return 3 }
func (w *witness) Failed() []int                       { return []int{2, 5} }
func (w *witness) FailureKnown() <-chan struct{}       { return nil }
func (w *witness) Acknowledge() []int                  { return []int{2} }
func (w *witness) Lease() error                        { return driver.ErrFenced }
func (w *witness) Free()                               { w.freed = true }
func (w *witness) Shrink(driver.Options) driver.Making { return w }

func (w *witness) Split(color, key int, _ driver.Options) driver.Making {
	w.split = [2]int{color, key}
	return w
}

func (w *witness) Spawn(missing []int) driver.Making {
	w.missing = missing
	return w
}

func (w *witness) Wait(context.Context) (driver.Comm, error) {
	return w, &driver.FailedError{Ranks: []int{4}}
}

// The ranks of an engine come with their type, whatever an error is wrapped in.
func TestMethodsAskTheEngine(t *testing.T) {
	w, ctx := &witness{Comm: single.New()}, t.Context()
	c := comm.New(w, comm.WithName("halo"))
	require.Equal(t, []comm.Rank{2, 5}, c.Failed())
	require.Equal(t, []comm.Rank{2}, c.Acknowledge())
	require.ErrorIs(t, c.Lease(), comm.ErrFenced)
	for name, make := range makers() {
		_, err := make(ctx, c)
		var failed *comm.FailedError
		require.ErrorAs(t, err, &failed, name)
		require.Equal(t, []comm.Rank{4}, failed.Ranks)
		require.ErrorIs(t, err, comm.ErrProcFailed)
		require.EqualError(t, err, name+` on communicator "halo": process failed: rank 4`)
	}
	require.Equal(t, []int{0}, w.missing)
	_, _ = c.Split(ctx, 3, -4)
	require.Equal(t, [2]int{3, -4}, w.split)
	_, _ = c.Dup(ctx)
	require.Equal(t, [2]int{0, 3}, w.split, "Dup: one color, ordered by rank")
	c.Free()
	require.True(t, w.freed)
}

func TestSelfRevoked(t *testing.T) {
	ctx, c := t.Context(), comm.Self()
	other, err := c.Dup(ctx)
	require.NoError(t, err)
	recv := comm.Irecv(c, 0, 1, make([]byte, 1))
	wild := comm.Irecv(c, comm.AnySource, 2, make([]byte, 1))
	eager := comm.Isend(c, 0, 3, []byte{1})
	large := comm.Isend(c, 0, 4, make([]byte, 1<<20))

	require.NoError(t, c.Revoke())
	require.NoError(t, c.Revoke(), "again")
	<-c.Revoked()
	for _, r := range []comm.Request{recv, wild, large} {
		_, err := r.Wait(ctx)
		require.ErrorIs(t, err, comm.ErrRevoked)
	}
	_, err = eager.Wait(ctx)
	require.NoError(t, err, "it was complete")

	require.ErrorIs(t, comm.Send(ctx, c, 0, 1, []byte{1}), comm.ErrRevoked)
	_, _, err = comm.Recv(ctx, c, 0, 3, make([]byte, 1))
	require.ErrorIs(t, err, comm.ErrRevoked, "a message of before")
	_, err = c.Dup(ctx)
	require.ErrorIs(t, err, comm.ErrRevoked)
	flags, err := c.Agree(ctx, 6)
	require.NoError(t, err)
	require.EqualValues(t, 6, flags)

	for _, c := range []*comm.Comm{other, shrunk(t, c)} {
		require.NoError(t, comm.Send(ctx, c, 0, 1, []byte{7}))
		var b [1]byte
		_, _, err = comm.Recv(ctx, c, 0, 1, b[:])
		require.NoError(t, err)
		require.EqualValues(t, 7, b[0])
	}
}

// What was given back is of no use any more, but the job's own one stays.
func TestSelfFreed(t *testing.T) {
	ctx, c := t.Context(), comm.Self()
	c.Free()
	require.ErrorIs(t, comm.Send(ctx, c, 0, 1, []byte{1}), comm.ErrClosed)
	_, err := c.Agree(ctx, 1)
	require.ErrorIs(t, err, comm.ErrClosed)
	for _, name := range []string{"Shrink", "Dup", "Split"} {
		_, err := makers()[name](ctx, c)
		require.ErrorIs(t, err, comm.ErrClosed, name)
	}
	own := comm.NewSession(single.NewSession()).Place().Comm
	own.Free()
	require.NoError(t, comm.Send(ctx, own, 0, 1, []byte{1}))
}

func shrunk(t *testing.T, c *comm.Comm) *comm.Comm {
	s, err := c.Shrink(t.Context())
	require.NoError(t, err)
	return s
}

func TestSelfAlone(t *testing.T) {
	ctx, c := t.Context(), comm.Self()
	require.Empty(t, c.Failed())
	require.Empty(t, c.Acknowledge())
	_, err := c.Spawn(ctx, []comm.OriginalRank{0})
	require.ErrorIs(t, err, comm.ErrUnsupported)
	none, err := c.Split(ctx, -1, 0)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, comm.Send(ctx, c, 0, 1, []byte{1}))
	dup, err := c.Dup(ctx)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = comm.Recv(ended, dup, comm.AnySource, comm.AnyTag, make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled, "messages of the two are apart")
}
