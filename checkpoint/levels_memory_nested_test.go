package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
)

const (
	memoryOuter = 4
	memoryInner = 5
)

// memoryNest is a sweep with a checkpoint around a solver with one, both in memory.
type memoryNest struct {
	cp           [2]*Checkpoint
	total, state []float64
	i, j         int
	from         int                              // the first of the values that are here
	value        func(v *[]float64) cptypes.Value // nil: all ranks have all
}

func (n *memoryNest) innerStep() {
	for k := range n.state {
		n.state[k] = n.state[k]*1.01 + float64(n.i*memoryInner+n.j+n.from+k)
	}
}

func (n *memoryNest) outerStep() {
	for k := range n.total {
		n.total[k] += n.state[k]
		n.state[k] = 0
	}
}

func newMemoryNest() *memoryNest {
	return &memoryNest{total: make([]float64, 500), state: make([]float64, 500)}
}

// undisturbedNest is what comes out.
func undisturbedNest() []float64 {
	n := newMemoryNest()
	for n.i = 0; n.i < memoryOuter; n.i++ {
		for n.j = 0; n.j < memoryInner; n.j++ {
			n.innerStep()
		}
		n.outerStep()
	}
	return n.total
}

func (n *memoryNest) run(ctx context.Context, c *comm.Comm, options []Option, step func(i, j int)) (err error) {
	for k, name := range []string{"outer", "inner"} {
		if n.cp[k], err = New(name, c, options...); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, n.cp[k].Close()) }()
	}
	value := n.value
	if value == nil {
		value = func(v *[]float64) cptypes.Value { return cptypes.Replicated(v) }
	}
	err = errors.Join(n.cp[0].Add("total", value(&n.total)), n.cp[0].Commit(),
		n.cp[1].Add("state", value(&n.state)), n.cp[1].Commit(), n.cp[0].SubCP(n.cp[1]))
	if err == nil {
		err = n.cp[0].RestartIfNeeded(ctx, &n.i)
	}
	for ; err == nil && n.i < memoryOuter; n.i++ {
		n.j = 0
		if err := n.cp[1].RestartIfNeeded(ctx, &n.j); err != nil {
			return err
		}
		for ; n.j < memoryInner; n.j++ {
			n.innerStep()
			step(n.i, n.j)
			if err := n.cp[1].UpdateAndWrite(ctx, n.j, 1); err != nil {
				return err
			}
		}
		n.outerStep()
		step(n.i, -1)
		err = n.cp[0].UpdateAndWrite(ctx, n.i, 1)
	}
	if err == nil {
		err = errors.Join(n.cp[1].Wait(ctx), n.cp[0].Wait(ctx))
	}
	return err
}

// Loops in loops go on from memory wherever a rank dies, and no more than a version of each stays.
func TestMemoryNested(t *testing.T) {
	rng := testseed.Rand(t)
	want := undisturbedNest()
	for _, levels := range []string{"mem", "mem:1,local:3"} {
		for _, mode := range []string{"off", "copy"} {
			dies, at := rng.IntN(4), [2]int{rng.IntN(memoryOuter), rng.IntN(memoryInner+1) - 1}
			t.Run(fmt.Sprint(levels, mode, dies, at), func(t *testing.T) {
				w := newMemoryWorld(t, 4, 2, levels)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := w.cluster.Run(ctx, 4, func(ctx context.Context, r *afttest.Rank) error {
					return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
						n := newMemoryNest()
						options := []Option{
							WithPath("/pfs"), WithNodePath(nodeRoot(r.Node())), withLevels(levels), WithAsync(AsyncMode(mode)),
							WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))), withFS(w.home), func(o *options) { o.nodeFS = w.nodes[r.Node()] },
						}
						err := n.run(ctx, z.Comm(), options, func(i, j int) {
							if z.Epoch() == 0 && i == at[0] && j == at[1] && int(z.Comm().Rank()) == dies {
								r.Die()
							}
						})
						if err == nil && !slices.Equal(n.total, want) {
							err = fmt.Errorf("rank %d has another result", z.Comm().Rank())
						}
						return err
					}, aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithSpawn(comm.Reuse))
				})
				require.NoError(t, err, w.log.String())
				if at[0] > 0 && mode == "off" { // otherwise it may have been on its way
					require.Regexp(t, `msg=restored checkpoint=outer .*version=`+fmt.Sprint(at[0]), w.log.String())
				}
			})
		}
	}
}
