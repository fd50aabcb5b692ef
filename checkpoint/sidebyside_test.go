package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
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
	finishes    bool // the second one is asked to end when it is finished
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
	if p.finishes {
		err := eventually(func() bool { end, _ := cps[2].meet.point.End(); return end != nil })
		return from, errors.Join(err, cps[2].Finish(ctx, 0))
	}
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

// So it is where the run ends with that call.
func TestFinishBesideOthersOnNodes(t *testing.T) {
	for _, nested := range []bool{false, true} {
		p := threeCheckpoints{path: filepath.Join(t.TempDir(), "pfs"), mode: AsyncCopy, nested: nested, finishes: true}
		_, err := p.run(t, 4)
		require.NoError(t, err)
		from, err := p.run(t, 4)
		require.NoError(t, err)
		require.Equal(t, [2]int{3, 1}, from, "%+v", p)
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

// A start that has stored a version of a checkpoint beside one is not fruitless for that, be it killed in a step; nor is one that may have.
func TestStartsThatGetOnBesideACheckpoint(t *testing.T) {
	for _, mode := range allModes {
		for _, nested := range []bool{false, true} { // the one that stores, in one beside
			path, p := t.TempDir(), demand.NewLocal()
			var log syncBuffer
			opts := []Option{WithPath(path), WithAsync(mode), withPoint(p), WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
			x := 1
			open := func(name string) *Checkpoint {
				cp, err := New(name, nil, opts...)
				require.NoError(t, errors.Join(err, cp.Add("x", &x), cp.Commit()))
				return cp
			}
			idle, around, busy := open("idle"), open("around"), open("busy")
			if nested {
				require.NoError(t, around.SubCP(busy))
			}
			require.NoError(t, errors.Join(idle.RestartIfNeeded(t.Context(), nil), around.RestartIfNeeded(t.Context(), nil), busy.RestartIfNeeded(t.Context(), nil)))
			require.NoError(t, busy.UpdateAndWrite(t.Context(), 0, 1))
			p.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: 0})
			require.NoError(t, eventually(func() bool {
				return strings.Contains(log.String(), "the time to save is over") && strings.Contains(log.String(), "checkpoint=idle")
			}))
			runs, err := idle.home.Records(t.Context())
			require.NoError(t, err)
			require.Zero(t, storage.Fruitless(runs, storage.ID{}, false), "%v, nested: %v: %+v", mode, nested, runs)
			require.NoError(t, errors.Join(busy.Close(), around.Close(), idle.Close()))
		}
	}
}

// endsBeside is a program of one process with two checkpoints, and a third one that has the name of the first and stores nothing. The
// second one, whose options are given, is in the call end, which is asked to end the job, when the first one has stored three versions
// on the node. It returns where the first one goes on when the node is lost.
func endsBeside(t *testing.T, end func(ctx context.Context, second *Checkpoint) error, first string, second ...Option) (from int) {
	base := t.TempDir()
	for start := range 2 {
		nodes, x, p := t.TempDir(), 1, demand.NewLocal()
		opts := func(more ...Option) []Option {
			return append([]Option{
				WithPath(filepath.Join(base, "second")), WithNodePath(nodes), WithLevels(storage.Local.Every(1), storage.PFS.Every(100)),
				withPoint(p), WithLogger(slog.New(slog.DiscardHandler)),
			}, more...)
		}
		cp1, err1 := New(first, nil, opts(WithPath(filepath.Join(base, "first")))...)
		cp2, err2 := New("second", nil, opts(second...)...)
		cp3, err3 := New(first, nil, opts(WithPath(filepath.Join(base, "third")))...)
		require.NoError(t, errors.Join(err1, err2, err3, cp1.Add("x", &x), cp1.Commit(), cp2.Add("x", &x), cp2.Commit(), cp3.Add("x", &x), cp3.Commit()))
		require.NoError(t, errors.Join(cp1.RestartIfNeeded(t.Context(), &from), cp2.RestartIfNeeded(t.Context(), nil), cp3.RestartIfNeeded(t.Context(), nil)))
		if start == 0 {
			for iter := range 3 {
				require.NoError(t, cp1.UpdateAndWrite(t.Context(), iter, 1))
			}
			p.Ask(demand.Demand{Cause: demand.Deadline, Source: "x", Left: time.Hour})
			var d *DeadlineError
			if err := end(t.Context(), cp2); errors.As(err, &d) {
				require.NoError(t, d.Err)
				require.True(t, d.Saved)
			} else {
				require.NoError(t, err)
			}
		}
		require.NoError(t, errors.Join(cp3.Close(), cp2.Close(), cp1.Close()))
	}
	return from
}

// Whatever the one that saves is like, and however the job ends there, those beside it that are on nodes come home.
func TestEndBesideOneOnNodes(t *testing.T) {
	calls := map[string]func(context.Context, *Checkpoint) error{
		"UpdateAndWrite": func(ctx context.Context, second *Checkpoint) error { return second.UpdateAndWrite(ctx, 0, 100) },
		"Finish":         func(ctx context.Context, second *Checkpoint) error { return second.Finish(ctx, 0) },
	}
	for call, end := range calls {
		for name, c := range map[string]struct {
			first string
			opts  []Option
		}{
			"two names":           {first: "first"},
			"one name":            {first: "second"}, // in three directories
			"one is on no node":   {first: "first", opts: []Option{DisableSCR()}},
			"another one is home": {first: "first", opts: []Option{WithLevels(storage.PFS.Every(1))}},
		} {
			t.Run(call+" "+name, func(t *testing.T) {
				require.Equal(t, 3, endsBeside(t, end, c.first, c.opts...))
			})
		}
	}
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
