package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
)

// threeCheckpoints is a program of two loops, one behind the other, that stores all on nodes.
type threeCheckpoints struct {
	path, nodes string
	mode        AsyncMode
	nested      bool // both loops are in a third one
	closes      bool // rank 1 has closed the first one when the second one comes
}

// start runs it until it is asked to end, in the second loop, and returns where the loops have begun.
func (p threeCheckpoints) start(ctx context.Context, c *comm.Comm, node int, ask func()) (from [2]int, err error) {
	opts := []Option{
		WithPath(p.path), WithNodePath(filepath.Join(p.nodes, fmt.Sprint(node))), WithLevels(storage.Local.Every(1), storage.PFS.Every(100)),
		WithAsync(p.mode), WithLogger(slog.New(slog.DiscardHandler)),
	}
	var cps [3]*Checkpoint
	x := 1
	for i, name := range []string{"around", "first", "second"} {
		cp, err := New(name, c, opts...)
		if err := errors.Join(err, cp.Add("x", &x), cp.Commit()); err != nil {
			return from, err
		}
		defer func() { err = errors.Join(err, cp.Close()) }()
		cps[i] = cp
	}
	if p.nested {
		if err := errors.Join(cps[0].SubCP(cps[1]), cps[0].SubCP(cps[2])); err != nil {
			return from, err
		}
	}
	err = errors.Join(cps[0].RestartIfNeeded(ctx, nil), cps[1].RestartIfNeeded(ctx, &from[0]), cps[2].RestartIfNeeded(ctx, &from[1]))
	if err != nil || from != [2]int{} {
		return from, err
	}
	for iter := range 3 {
		if err := cps[1].UpdateAndWrite(ctx, iter, 1); err != nil {
			return from, err
		}
	}
	if p.closes && c.Rank() == 1 {
		if err := cps[1].Close(); err != nil {
			return from, err
		}
	}
	ask()
	for iter := 0; ; iter++ {
		if err := cps[2].UpdateAndWrite(ctx, iter, 1); err != nil {
			return from, err
		}
	}
}

// run runs it with ranks, on two nodes that it has for this time alone.
func (p threeCheckpoints) run(t *testing.T, ranks int) (from [2]int, err error) {
	p.nodes = t.TempDir()
	cluster := &afttest.Cluster{Nodes: 2}
	var mu sync.Mutex
	var once sync.Once
	err = cluster.Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		begun, err := p.start(ctx, r.Comm(), r.Node(), func() {
			once.Do(func() { cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: time.Hour}) })
		})
		mu.Lock()
		defer mu.Unlock()
		from = begun
		return err
	})
	return from, err
}

// At the end the last versions of checkpoints whose calls do not come any more go to the parallel file system, too: beside the one
// that saves, and in loops side by side in another one.
func TestEndBesideOthersOnNodes(t *testing.T) {
	for _, mode := range allModes {
		for _, nested := range []bool{false, true} {
			for _, ranks := range []int{1, 4} {
				if ranks > 1 && mode != AsyncCopy { // what follows is the same in all modes
					continue
				}
				p := threeCheckpoints{path: filepath.Join(t.TempDir(), "pfs"), mode: mode, nested: nested}
				_, err := p.run(t, ranks)
				var d *DeadlineError
				require.ErrorAs(t, err, &d)
				require.NoError(t, d.Err)
				from, err := p.run(t, ranks)
				require.NoError(t, err)
				require.Equal(t, 3, from[0], "%+v", p)
				require.Positive(t, from[1])
			}
		}
	}
}

// What a rank has closed is brought home by nobody; the end says so, and goes on.
func TestEndBesideOthersThatAreClosed(t *testing.T) {
	p := threeCheckpoints{path: filepath.Join(t.TempDir(), "pfs"), mode: AsyncOff, closes: true}
	_, err := p.run(t, 4)
	var d *DeadlineError
	require.ErrorAs(t, err, &d)
	require.True(t, d.Saved)
	require.ErrorContains(t, d.Err, `checkpoint "first", beside this one: its last version is not brought to the parallel file system`)
}

// partsBeside is a program whose loop stores all ranks' checkpoint, beside one that a part of the ranks has stored on nodes before.
type partsBeside struct {
	path, nodes string
	parts       int  // of the ranks, each with a checkpoint of its own; the last one has none if there are more than two
	home        bool // that of all ranks has no levels
	closes      bool // the last rank of the first part has closed it
	again       bool // it ends when the parts have read
}

func (p partsBeside) start(ctx context.Context, c *comm.Comm, node int, ask func()) (from int, err error) {
	opts := []Option{WithPath(p.path), WithNodePath(filepath.Join(p.nodes, fmt.Sprint(node))), WithLogger(slog.New(slog.DiscardHandler))}
	levels := WithLevels(storage.Local.Every(1), storage.PFS.Every(100))
	of := int(c.Rank()) % p.parts
	part, err := c.Split(ctx, of, int(c.Rank()))
	if err != nil {
		return 0, err
	}
	open := func(name string, c *comm.Comm, opts ...Option) (*Checkpoint, error) {
		cp, err := New(name, c, opts...)
		if err != nil {
			return nil, err
		}
		return cp, errors.Join(cp.Add("x", new(int)), cp.Commit())
	}
	var mine *Checkpoint
	if of < 2 {
		// One name in a directory of each part.
		if mine, err = open("part", part, append(opts, levels, WithPath(filepath.Join(p.path, fmt.Sprint(of))))...); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, mine.Close()) }()
		if err := mine.RestartIfNeeded(ctx, &from); err != nil || p.again {
			return from, err
		}
		if err := mine.UpdateAndWrite(ctx, 6, 1); err != nil {
			return from, err
		}
	}
	if p.again {
		return 0, nil
	}
	if !p.home {
		opts = append(opts, levels)
	}
	all, err := open("all", c, opts...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	if err := all.RestartIfNeeded(ctx, nil); err != nil {
		return 0, err
	}
	if p.closes && of == 0 && part.Rank() == comm.Rank(part.Size()-1) {
		if err := mine.Close(); err != nil {
			return 0, err
		}
	}
	ask()
	for iter := 0; ; iter++ {
		if err := all.UpdateAndWrite(ctx, iter, 1); err != nil {
			return 0, err
		}
	}
}

// run runs it with ranks on two nodes that it has for this time alone; from is where the checkpoints of the parts have begun.
func (p partsBeside) run(t *testing.T, ranks int) (from []int, err error) {
	p.nodes = t.TempDir()
	cluster := &afttest.Cluster{Nodes: 2}
	from = make([]int, ranks)
	var once sync.Once
	err = cluster.Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		begun, err := p.start(ctx, r.Comm(), r.Node(), func() {
			once.Do(func() { cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: time.Hour}) })
		})
		from[r.Comm().Rank()] = begun
		return err
	})
	return from, err
}

// So do the last versions of checkpoints of parts of the ranks, for which that of all ranks decides, whether it has levels itself or not.
func TestEndBesideOthersOfPartsOfTheRanks(t *testing.T) {
	for _, parts := range []int{1, 2, 3} {
		for _, home := range []bool{false, true} {
			t.Run(fmt.Sprint(parts, home), func(t *testing.T) {
				p := partsBeside{path: filepath.Join(t.TempDir(), "pfs"), parts: parts, home: home}
				_, err := p.run(t, 4)
				var d *DeadlineError
				require.ErrorAs(t, err, &d)
				require.NoError(t, d.Err)
				p.again = true
				from, err := p.run(t, 4)
				require.NoError(t, err)
				for rank, begun := range from {
					if rank%parts < 2 {
						require.Equal(t, 7, begun, "rank %d", rank)
					}
				}
			})
		}
	}
}

// What a part's rank has closed all ranks of the job learn.
func TestEndBesideAClosedPart(t *testing.T) {
	p := partsBeside{path: filepath.Join(t.TempDir(), "pfs"), parts: 2, closes: true}
	_, err := p.run(t, 4)
	var d *DeadlineError
	require.ErrorAs(t, err, &d)
	require.True(t, d.Saved)
	require.ErrorContains(t, d.Err, `checkpoint "part", beside this one: its last version is not brought to the parallel file system`)
}
