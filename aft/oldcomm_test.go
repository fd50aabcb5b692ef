package aft_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// everyCall are all calls of a communicator that others take part in, or a message to itself.
var everyCall = map[string]func(ctx context.Context, c *comm.Comm) error{
	"Send":       func(ctx context.Context, c *comm.Comm) error { return comm.Send(ctx, c, (c.Rank()+1)%3, 1, []int{1}) },
	"Send, self": func(ctx context.Context, c *comm.Comm) error { return comm.Send(ctx, c, c.Rank(), 1, []int{1}) },
	"Send, large": func(ctx context.Context, c *comm.Comm) error {
		return comm.Send(ctx, c, (c.Rank()+1)%3, 1, make([]int, 1<<20))
	},
	"Recv": func(ctx context.Context, c *comm.Comm) error {
		_, _, err := comm.Recv(ctx, c, comm.AnySource, comm.AnyTag, make([]int, 1))
		return err
	},
	"Sendrecv": func(ctx context.Context, c *comm.Comm) error {
		_, _, err := comm.Sendrecv(ctx, c, c.Rank(), 1, []int{1}, c.Rank(), 1, make([]int, 1))
		return err
	},
	"Isend": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.Isend(c, (c.Rank()+1)%3, 1, []int{1}).Wait(ctx)
		return err
	},
	"Irecv": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.Irecv(c, (c.Rank()+1)%3, 1, make([]int, 1)).Wait(ctx)
		return err
	},
	"Isendv": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.Isendv(c, (c.Rank()+1)%3, 1, []byte{1}).Wait(ctx)
		return err
	},
	"Itake": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.Itake(c, (c.Rank()+1)%3, 1, 1, func([]byte) {}).Wait(ctx)
		return err
	},

	"Barrier": func(ctx context.Context, c *comm.Comm) error { return comm.Barrier(ctx, c) },
	"Bcast":   func(ctx context.Context, c *comm.Comm) error { return comm.Bcast(ctx, c, 0, []int{1}) },
	"BcastBytes": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.BcastBytes(ctx, c, 0, []byte{1})
		return err
	},
	"Reduce": func(ctx context.Context, c *comm.Comm) error {
		return comm.Reduce(ctx, c, 0, []int{1}, []int{1}, comm.Sum)
	},
	"Allreduce": func(ctx context.Context, c *comm.Comm) error {
		return comm.Allreduce(ctx, c, []int{1}, []int{1}, comm.Sum)
	},
	"Allgather":  func(ctx context.Context, c *comm.Comm) error { return comm.Allgather(ctx, c, []int{1}, make([]int, 3)) },
	"Allgatherv": func(ctx context.Context, c *comm.Comm) error { _, err := comm.Allgatherv(ctx, c, []int{1}); return err },
	"AllgatherBytes": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.AllgatherBytes(ctx, c, []byte{1})
		return err
	},
	"Gather":  func(ctx context.Context, c *comm.Comm) error { return comm.Gather(ctx, c, 0, []int{1}, make([]int, 3)) },
	"Gatherv": func(ctx context.Context, c *comm.Comm) error { _, err := comm.Gatherv(ctx, c, 0, []int{1}); return err },
	"Scatter": func(ctx context.Context, c *comm.Comm) error {
		return comm.Scatter(ctx, c, 0, make([]int, 3), make([]int, 1))
	},
	"Scatterv": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.Scatterv(ctx, c, 0, make([][]int, 3))
		return err
	},
	"Alltoallv": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.Alltoallv(ctx, c, make([][]int, 3))
		return err
	},
	"SparseAlltoallv": func(ctx context.Context, c *comm.Comm) error {
		_, err := comm.SparseAlltoallv(ctx, c, map[comm.Rank][]int{0: {1}})
		return err
	},

	"Agree":  func(ctx context.Context, c *comm.Comm) error { _, err := c.Agree(ctx, 1); return err },
	"Shrink": func(ctx context.Context, c *comm.Comm) error { _, err := c.Shrink(ctx); return err },
	"Split":  func(ctx context.Context, c *comm.Comm) error { _, err := c.Split(ctx, 0, 0); return err },
	"Dup":    func(ctx context.Context, c *comm.Comm) error { _, err := c.Dup(ctx); return err },
	"Spawn": func(ctx context.Context, c *comm.Comm) error {
		_, err := c.Spawn(ctx, []comm.OriginalRank{1})
		return err
	},
}

// TestOldCommunicatorsRefuse every call: what an old attempt has left behind reaches nobody in a new one.
func TestOldCommunicatorsRefuse(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, (&afttest.Cluster{}).Run(ctx, 3, func(ctx context.Context, r *afttest.Rank) error {
		var old []*comm.Comm
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			switch {
			case z.Epoch() == 0:
				derived, err := z.Comm().Split(ctx, 0, 0)
				if err != nil {
					return err
				}
				old = []*comm.Comm{z.Comm(), derived}
				if _, err := z.Comm().Agree(ctx, 1); err != nil {
					return err
				}
				if z.Original() == 1 {
					r.Die()
				}
				return comm.Barrier(ctx, z.Comm())
			case !z.Replacement():
				for _, c := range old {
					for name, call := range everyCall {
						if err := call(ctx, c); !errors.Is(err, comm.ErrRevoked) {
							return fmt.Errorf("%s on a communicator of the attempt before: %v", name, err)
						}
					}
				}
			}
			return comm.Barrier(ctx, z.Comm())
		}, quiet, aft.WithRecovery(comm.GlobalRestart))
	}))
}
