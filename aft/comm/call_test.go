package comm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// instant is an engine whose operations are over when they begin.
type instant struct{}

func (instant) Rank() int                                        { return 1 }
func (instant) Size() int                                        { return 2 }
func (instant) Isend(int, int, []byte) driver.Request            { return instant{} }
func (instant) Irecv(int, int, []byte) driver.Request            { return instant{} }
func (instant) Wait(context.Context) (driver.Status, error)      { return driver.Status{}, nil }
func (instant) Itake(int, int, int, func([]byte)) driver.Request { return instant{} }

func TestWrappedCallsAllocateNothing(t *testing.T) {
	c, ctx, data := comm.New(instant{}), t.Context(), make([]float64, 1)
	for name, call := range map[string]func(){
		"send":     func() { _ = comm.Send(ctx, c, 0, 1, data) },
		"receive":  func() { _, _, _ = comm.Recv(ctx, c, 0, 1, data) },
		"sendrecv": func() { _, _, _ = comm.Sendrecv(ctx, c, 0, 1, data, 0, 1, data) },
		"take":     func() { _, _ = comm.Itake(c, 0, 1, 8, nil).Wait(ctx) },
		"barrier":  func() { _ = comm.Barrier(ctx, c) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, call), name)
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
	require.Equal(t, []comm.Message{
		{Comm: c, Peer: 0, Tag: 5, Bytes: 16, Sent: true, Step: 7},
		{Comm: c, Peer: comm.AnySource, Tag: 5, Bytes: 24, Step: 7},
	}, messages)
	dup, err := c.Dup(ctx, comm.WithName("mine"))
	require.NoError(t, err)
	require.NoError(t, comm.Barrier(ctx, dup))
	require.ErrorContains(t, comm.Bcast(ctx, dup, 9, []byte{1}), `Bcast on communicator "mine": rank out of range: 9`)
	require.Equal(t, []string{"Dup", "Barrier", "Bcast"}, began)
	require.Equal(t, []string{"Dup", "Barrier"}, ended)
	require.Len(t, messages, 2)
	stop()
	require.NoError(t, comm.Barrier(ctx, c))
	require.Len(t, began, 3)
}
