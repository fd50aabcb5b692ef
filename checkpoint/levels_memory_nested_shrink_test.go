package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// nestDeaths are of one rank in each of the first attempts: at an operation on memory, whoever does it, or in an
// iteration.
type nestDeaths struct {
	mu       sync.Mutex
	at       []nestDeath
	attempts map[int]int // operations so far
	dead     map[*afttest.Rank]bool
}

type nestDeath struct{ operation, outer, inner, rank int }

func (d *nestDeaths) operation(r *afttest.Rank, epoch int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts[epoch]++
	if epoch < len(d.at) && d.attempts[epoch] == d.at[epoch].operation {
		d.dead[r] = true
		r.Kill(r.Session().Place().Original)
	}
	if d.dead[r] {
		return errLost
	}
	return nil
}

// TestMemoryNestedShrinks: loops in loops, whose values are divided among the ranks, on fewer ranks two and three times
// in a row, wherever these die: with the values of an undisturbed run.
func TestMemoryNestedShrinks(t *testing.T) {
	const ranks, cells = 6, 500
	rng := testseed.Rand(t)
	want := undisturbedNest()
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	rounds, ended := 0, 0
	for ; rounds < 20/underRace() || time.Now().Before(until); rounds++ {
		levels := []string{"mem", "mem:1,local:3", "mem:1,pfs:2"}[rng.IntN(3)]
		mode := []string{"off", "copy"}[rng.IntN(2)]
		deaths := &nestDeaths{attempts: make(map[int]int), dead: make(map[*afttest.Rank]bool)}
		for range 2 + rng.IntN(2) {
			one := nestDeath{-1, rng.IntN(memoryOuter), rng.IntN(memoryInner+1) - 1, rng.IntN(ranks)}
			if rng.IntN(2) == 0 {
				one = nestDeath{operation: 1 + rng.IntN(150), outer: -1}
			}
			deaths.at = append(deaths.at, one)
		}
		what := fmt.Sprint(levels, " ", mode, " ", deaths.at)
		w := newMemoryWorld(t, ranks, ranks, levels)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := w.cluster.Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c, epoch := z.Comm(), z.Epoch()
				lo, hi := int(c.Rank())*cells/c.Size(), (int(c.Rank())+1)*cells/c.Size()
				n := &memoryNest{from: lo, total: make([]float64, hi-lo), state: make([]float64, hi-lo)}
				n.value = func(v *[]float64) cptypes.Value { return cptypes.Partitioned(v, lo, hi, cells) }
				options := []Option{
					WithPath("/pfs"), WithNodePath(nodeRoot(r.Node())), withLevels(levels), WithAsync(AsyncMode(mode)),
					WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))), withFS(w.home), func(o *options) {
						o.nodeFS = w.nodes[r.Node()]
						o.lock = filestore.LockConfig{Job: "nest", Epoch: epoch}
						o.beforeMemory = func(string, storage.ObjectKey) error { return deaths.operation(r, epoch) }
					},
				}
				err := n.run(ctx, c, options, func(i, j int) {
					if epoch < len(deaths.at) && deaths.at[epoch] == (nestDeath{-1, i, j, int(c.Rank())}) {
						r.Die()
					}
				})
				if err == nil && !slices.Equal(n.total, want[lo:hi]) {
					err = errors.New("another result")
				}
				return err
			}, aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithRecovery(comm.Shrinking))
		})
		cancel()
		if levels != "mem" && err != nil && strings.Contains(err.Error(), "no usable version") {
			continue // all that was in memory is lost, and the files are on nodes that are not in the job any more
		}
		ended++
		require.NoError(t, err, what+"\n"+w.log.String())
	}
	t.Logf("%d rounds, %d to the end", rounds, ended)
	require.Greater(t, 2*ended, rounds)
}
