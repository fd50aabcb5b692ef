package comm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// instant is an engine whose operations are over when they begin: each receive takes as
// much as there is room for.
type instant struct{}

func (instant) Rank() int                                        { return 1 }
func (instant) Size() int                                        { return 2 }
func (instant) Isend(int, int, []byte) driver.Request            { return received[0] }
func (instant) Isendv(int, int, [][]byte) driver.Request         { return received[0] }
func (instant) Irecv(_, _ int, buf []byte) driver.Request        { return received[len(buf)] }
func (instant) Itake(int, int, int, func([]byte)) driver.Request { return received[0] }

type arrival struct{ bytes int }

func (a *arrival) Wait(context.Context) (driver.Status, error) {
	return driver.Status{Bytes: a.bytes}, nil
}

// received has the receive of each length.
var received = func() (all [2000]*arrival) {
	for n := range all {
		all[n] = &arrival{n}
	}
	return all
}()

func TestWrappedCallsAllocateNothing(t *testing.T) {
	c, ctx, data, all := comm.New(instant{}), t.Context(), make([]float64, 100), make([]float64, 200)
	pieces := make([][]byte, 3)
	for name, call := range map[string]func() error{
		"send":      func() error { return comm.Send(ctx, c, 0, 1, data) },
		"receive":   func() error { _, _, err := comm.Recv(ctx, c, 0, 1, data); return err },
		"sendrecv":  func() error { _, _, err := comm.Sendrecv(ctx, c, 0, 1, data, 0, 1, data); return err },
		"take":      func() error { _, err := comm.Itake(c, 0, 1, 8, nil).Wait(ctx); return err },
		"pieces":    func() error { _, err := comm.Isendv(c, 0, 1, pieces...).Wait(ctx); return err },
		"barrier":   func() error { return comm.Barrier(ctx, c) },
		"bcast":     func() error { return comm.Bcast(ctx, c, 0, data) },
		"reduce":    func() error { return comm.Reduce(ctx, c, 0, data, nil, comm.Sum) },
		"allreduce": func() error { return comm.Allreduce(ctx, c, data, data, comm.Sum) },
		"gather":    func() error { return comm.Gather(ctx, c, 0, data, nil) },
		"scatter":   func() error { return comm.Scatter(ctx, c, 0, nil, data) },
		"allgather": func() error { return comm.Allgather(ctx, c, data, all) },
	} {
		var err error
		require.Zero(t, testing.AllocsPerRun(100, func() { err = call() }), name)
		require.NoError(t, err, name)
	}
}

// TestObserver: messages are told as they begin, collectives with their end, and what
// they are made of is not.
func TestObserver(t *testing.T) {
	c, ctx := comm.Self(), t.Context()
	var messages []comm.Message
	var began, ended []string
	stop := c.Session().Observe(&comm.Observer{
		Message: func(m comm.Message) { messages = append(messages, m) },
		Collective: func(k comm.Collective) func(error) {
			began = append(began, k.Op)
			return func(err error) {
				if err == nil {
					ended = append(ended, k.Op)
				}
			}
		},
	})
	c.Session().Step(7)
	require.NoError(t, comm.Send(ctx, c, 0, 5, []float64{1, 2}))
	_, _, err := comm.Recv(ctx, c, comm.AnySource, 5, make([]float64, 3))
	require.NoError(t, err)
	_, err = comm.Isendv(c, 0, 6, []byte{1}, []byte{2, 3}).Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, []comm.Message{
		{Comm: c, Peer: 0, Tag: 5, Bytes: 16, Sent: true, Step: 7},
		{Comm: c, Peer: comm.AnySource, Tag: 5, Bytes: 24, Step: 7},
		{Comm: c, Peer: 0, Tag: 6, Bytes: 3, Sent: true, Step: 7},
	}, messages)
	dup, err := c.Dup(ctx, comm.WithName("mine"))
	require.NoError(t, err)
	require.NoError(t, comm.Barrier(ctx, dup))
	require.ErrorContains(t, comm.Bcast(ctx, dup, 9, []byte{1}), `Bcast on communicator "mine": rank out of range: 9`)
	require.Equal(t, []string{"Dup", "Barrier", "Bcast"}, began)
	require.Equal(t, []string{"Dup", "Barrier"}, ended)
	require.Len(t, messages, 3)
	stop()
	require.NoError(t, comm.Barrier(ctx, c))
	require.Len(t, began, 3)
}
