package checkpoint

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
)

// loopsIn is a program of loops in loops, of which the innermost writes, and those around it do not come to a call.
type loopsIn struct {
	dir   string
	depth int
}

// start runs it for one iteration, unless it ends before, and returns what the innermost loop begins with. fails: the outermost checkpoint is
// to write, and cannot.
func (n loopsIn) start(t *testing.T, p *demand.Point, writes, fails bool, opts ...Option) (iter int, err error) {
	opts = append([]Option{WithPath(n.dir), withPoint(p), WithLogger(slog.New(slog.DiscardHandler))}, opts...)
	var all []*Checkpoint
	defer func() {
		for _, cp := range all {
			err = errors.Join(err, cp.Close())
		}
	}()
	for i := range n.depth {
		x, guards := []int{1}, []AddOption{}
		if fails && i == 0 {
			guards = append(guards, Guard("test", func() error { return errLost }))
		}
		cp, err := New([]string{"outer", "middle", "inner"}[i], nil, opts...)
		require.NoError(t, err)
		all = append(all, cp)
		require.NoError(t, errors.Join(cp.Add("x", &x, guards...), cp.Commit()))
		if i > 0 {
			require.NoError(t, all[i-1].SubCP(cp))
		}
	}
	for _, cp := range all {
		at := &iter
		if cp != all[n.depth-1] {
			at = nil
		}
		if err := cp.RestartIfNeeded(t.Context(), at); err != nil {
			return iter, err
		}
	}
	if writes {
		err = all[n.depth-1].UpdateAndWrite(t.Context(), iter, 1)
	}
	if fails {
		p.Ask(end("x"))
		err = all[0].UpdateAndWrite(t.Context(), 0, 1)
	}
	return iter, err
}

// A job that ends before it has begun, or where the first version of the outermost checkpoint cannot be written, does not say that nothing is stored
// where a checkpoint nested in that has a version, which the next start goes on from.
func TestEndNamesWhatIsStoredInTheFirstStage(t *testing.T) {
	const nothing, nested = "nothing is stored, the next start begins at the beginning", "but of one nested in it: the next start goes on from that"
	late := func(t *testing.T, n loopsIn, says, not string) {
		p := demand.NewLocal()
		p.Ask(passedDeadline())
		_, err := n.start(t, p, false, false)
		require.ErrorIs(t, err, ErrDeadline)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), not)
	}
	for _, depth := range []int{2, 3} {
		n := loopsIn{t.TempDir(), depth}
		late(t, n, nothing, nested)
		_, err := n.start(t, demand.NewLocal(), true, false)
		require.NoError(t, err)
		for range 2 { // also behind one that has ended like this
			late(t, n, nested, nothing)
		}
		_, err = n.start(t, demand.NewLocal(), false, true)
		require.ErrorIs(t, err, ErrDeadline)
		require.ErrorContains(t, err, nested)
		iter, err := n.start(t, demand.NewLocal(), false, false)
		require.NoError(t, err)
		require.Equal(t, 1, iter, "it says what the next start does")

		_, err = n.start(t, demand.NewLocal(), false, false, WithReadOnRestart(false))
		require.NoError(t, err)
		late(t, n, nothing, nested)
	}
}

// What is stored of a computation that was abandoned is not what the next start goes on from.
func TestEndNamesNothingThatWasAbandoned(t *testing.T) {
	n := loopsIn{t.TempDir(), 2}
	_, err := (loopsIn{n.dir, 1}).start(t, demand.NewLocal(), true, false)
	require.NoError(t, err)
	_, err = n.start(t, demand.NewLocal(), true, false, WithReadOnRestart(false))
	require.NoError(t, err)
	p := demand.NewLocal()
	p.Ask(passedDeadline())
	_, err = n.start(t, p, false, false)
	var d *DeadlineError
	require.ErrorAs(t, err, &d)
	require.Zero(t, d.Version)
	require.ErrorContains(t, err, "the next start goes on from that")
}
