package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

// newLeveledNest is the program of the paper's Listing 7: the inner checkpoint at
// node level, the outer one, with DisableSCR, on the parallel file system.
func newLeveledNest(c *comm.Comm, opts ...Option) (*nest, error) {
	s := &nest{c: c, loops: nestLoops(), taken: []int{-1, -1}}
	for i := range s.loops {
		l := &s.loops[i]
		l.state = make([]float64, 50)
		mine := opts
		if i == 0 {
			mine = append(slices.Clip(opts), DisableSCR())
		}
		var err error
		if l.cp, err = New(fmt.Sprint("level", i), c, mine...); err != nil {
			return nil, err
		}
		if err = errors.Join(l.cp.Add("state", cptypes.Replicated(&l.state)), l.cp.Commit()); err != nil {
			return nil, err
		}
	}
	return s, s.loops[0].cp.SubCP(s.loops[1].cp)
}

func nestLoops() []loop { return []loop{{n: 3, freq: 1}, {n: 5, freq: 2}} }

// nestPoint is a moment of that program.
type nestPoint struct {
	what string
	at   []int
}

func (p nestPoint) is(what string, at []int) bool { return p.what == what && slices.Equal(p.at, at) }

// stored are the iterations whose versions a restart finds after a loss at that
// point, -1: none.
func (p nestPoint) stored() (outer, inner int) {
	if len(p.at) == 1 {
		return p.at[0], -1
	}
	last := p.at[1]
	if p.what == "step" {
		last--
	}
	if last < 0 {
		return p.at[0] - 1, -1
	}
	return p.at[0] - 1, last - last%2
}

func nestPoints() []nestPoint {
	var all []nestPoint
	for i := range 3 {
		for j := range 5 {
			all = append(all, nestPoint{"step", []int{i, j}}, nestPoint{"written", []int{i, j}})
		}
		all = append(all, nestPoint{"written", []int{i}})
	}
	return all
}

var errDies = errors.New("the job dies here")

// nest runs the nested program until a point, nil: until its end, and returns
// where each loop was taken up.
func (n *testNodes) nest(t *testing.T, levels string, until *nestPoint, opts ...Option) (taken []int, log string) {
	t.Helper()
	var b syncBuffer
	want := undisturbed(nestLoops())
	err := afttest.Run(t.Context(), len(n.of), func(ctx context.Context, c *comm.Comm) error {
		all := append(n.options(c.Rank(), levels, WithLogger(slog.New(slog.NewTextHandler(&b, nil)))), opts...)
		s, err := newLeveledNest(c, all...)
		if err != nil {
			return err
		}
		s.stop = func(what string, at []int) error {
			if until != nil && until.is(what, at) {
				if inner := s.loops[1].cp.placement; inner != nil {
					inner.Healed() // a second loss before that could be too much
				}
				return errDies
			}
			return nil
		}
		err = s.run(ctx, 0)
		switch {
		case errors.Is(err, errDies):
			err = nil
		case err == nil && until != nil:
			err = errors.New("it has not come to where it was to die")
		case err == nil && !slices.Equal(s.loops[0].state, want):
			err = fmt.Errorf("rank %d has another result", c.Rank())
		}
		if c.Rank() == 0 {
			taken = s.taken
		}
		return errors.Join(err, s.close())
	})
	require.NoError(t, err, b.String())
	return taken, b.String()
}

// A node is lost at each moment of a nested program; the inner checkpoint, which
// is on the nodes alone, and the outer one, which is not there at all, are taken
// up where they were.
func TestLevelsNested(t *testing.T) {
	points := nestPoints()
	for _, k := range sample(t, numbers(len(points)), 2) {
		i, p := k-1, points[k-1]
		mode, levels := modes[i%3], []string{"partner", "xor", "rs"}[(i/3)%3]
		t.Run(fmt.Sprint(p, mode, levels), func(t *testing.T) {
			n := newTestNodes(t, 0, 1, 2, 3)
			n.nest(t, levels, &p, inMode(mode))
			require.Empty(t, glob(t, filepath.Join(n.dir, "node*", "level0-*")), "the outer checkpoint is on the nodes")
			require.Empty(t, glob(t, filepath.Join(n.dir, "pfs", "level1", "v-*")), "the inner checkpoint is on the parallel file system")
			n.lose(t, i%4)
			taken, log := n.nest(t, levels, nil, inMode(mode))
			outer, inner := p.stored()
			require.Equal(t, []int{outer, inner}, taken, log)
		})
	}
}

// Losses at one moment after the other of one program.
func TestLevelsNestedAgainAndAgain(t *testing.T) {
	ofData(t)
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			n := newTestNodes(t, 0, 0, 1, 1, 2, 2)
			outer, inner := -1, -1
			points := nestPoints()
			for i := 1; i < len(points); i += 2 {
				taken, log := n.nest(t, "partner", &points[i], inMode(mode))
				require.Equal(t, []int{outer, inner}, taken, log)
				require.NotContains(t, log, notKnown)
				outer, inner = points[i].stored()
				n.lose(t, i%3)
			}
			n.nest(t, "partner", nil, inMode(mode))
		})
	}
}

// All nodes are lost: the stage begins anew, from what the outer checkpoint has.
func TestLevelsNestedWithoutNodes(t *testing.T) {
	n := newTestNodes(t, 0, 1, 2, 3)
	n.nest(t, "partner", &nestPoint{"written", []int{2, 2}})
	n.lose(t, 0, 1, 2, 3)
	taken, log := n.nest(t, "partner", nil)
	require.Equal(t, []int{1, -1}, taken)
	require.Contains(t, log, "cannot be had any more")
}

// innerOnly runs a program of an outer and an inner checkpoint, with deltas, whose
// inner state hardly changes. body gets both after their restart, and the iteration
// and the state of the inner one.
func (n *testNodes) innerOnly(t *testing.T, levels, mode string, body func(ctx context.Context, outer, inner *Checkpoint, iter int, state []float64) error) {
	t.Helper()
	require.NoError(t, afttest.Run(t.Context(), len(n.of), func(ctx context.Context, c *comm.Comm) error {
		opts := append(n.options(c.Rank(), levels), inMode(mode), WithDelta(10), func(o *options) { o.chunkSize = 4 << 10 })
		outer, err := New("outer", c, append(slices.Clip(opts), DisableSCR())...)
		if err != nil {
			return err
		}
		inner, err := New("inner", c, opts...)
		if err != nil {
			return err
		}
		stage, iter, state := 0, 0, make([]float64, 20_000)
		for i := range state {
			state[i] = float64(i)
		}
		err = errors.Join(outer.Add("stage", cptypes.Replicated(&stage)), inner.Add("state", &state),
			outer.Commit(), inner.Commit(), outer.SubCP(inner), outer.RestartIfNeeded(ctx, nil), inner.RestartIfNeeded(ctx, &iter))
		if err == nil {
			err = body(ctx, outer, inner, iter, state)
		}
		return errors.Join(err, inner.Close(), outer.Close())
	}))
}

// The versions of a stage refer to none of the stage before: those are deleted when
// the stage has ended.
func TestLevelsNestedDelta(t *testing.T) {
	for _, levels := range []string{"", "partner"} {
		for _, mode := range modes {
			t.Run(levels+mode, func(t *testing.T) {
				n := newTestNodes(t, 0, 1)
				n.innerOnly(t, levels, mode, func(ctx context.Context, outer, inner *Checkpoint, _ int, state []float64) error {
					for stage := range 3 {
						for i := range 3 {
							state[0]++
							if err := errors.Join(inner.UpdateAndWrite(ctx, i, 1), inner.Wait(ctx)); err != nil {
								return err
							}
						}
						if stage == 2 {
							break
						}
						if err := errors.Join(outer.UpdateAndWrite(ctx, stage, 1), outer.Wait(ctx)); err != nil {
							return err
						}
					}
					return nil
				})
				n.innerOnly(t, levels, mode, func(_ context.Context, _, inner *Checkpoint, iter int, state []float64) error {
					if iter != 3 || state[0] != 9 || state[19_999] != 19_999 {
						return fmt.Errorf("restored: iteration %d, state %v ... %v", iter, state[0], state[19_999])
					}
					return nil
				})
			})
		}
	}
}
