package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// differing is the outcome of a process's first shrink of communicator 2, which told the difference is without process 3.
func differing(seq uint64) control.Message {
	return control.Message{Kind: control.KindMade, Made: &control.Made{
		Comm: 2, Seq: control.OfSurvivors.Seq(seq), Op: control.OpShrink,
		New: &control.Group{ID: 4, Since: &control.Difference{Of: 2, Without: []control.Proc{3}}},
	}}
}

// TestDifferenceOfWhatWasGivenBack: who waits for an operation knows whose it is, though the communicator was freed
// meanwhile, or all of before were replaced.
func TestDifferenceOfWhatWasGivenBack(t *testing.T) {
	for name, lose := range map[string]func(e *endpoint, b *mailbox){
		"it is there": func(*endpoint, *mailbox) {},
		"freed":       func(e *endpoint, b *mailbox) { e.free(b) },
		"replaced":    func(e *endpoint, _ *mailbox) { e.retire(3) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(2, 1)
			e.up = func(control.Message) {}
			e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2, 3}}, 0)
			b := e.ensure(control.Group{ID: 2, Procs: []control.Proc{3, 2, 1}}, 1)
			made := (&communicator{b}).Shrink(driver.Options{})
			lose(e, b)
			require.NoError(t, e.handle(differing(0)))
			c, err := made.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, []control.Proc{2, 1}, c.(*communicator).box.procs)
			require.Zero(t, c.Rank())
			require.Empty(t, e.pending)
		})
	}
}

// TestDifferenceNobodyWaitsFor: what is made is given back at once, as what is told in full.
func TestDifferenceNobodyWaitsFor(t *testing.T) {
	e := newEndpoint(2, 1)
	var said []control.Message
	e.up = func(m control.Message) { said = append(said, m) }
	e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2, 3}}, 0)
	b := e.ensure(control.Group{ID: 2, Procs: []control.Proc{1, 2, 3}}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&communicator{b}).Shrink(driver.Options{}).Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, e.handle(differing(0)))
	require.Equal(t, control.KindFree, said[len(said)-1].Kind)
	require.Equal(t, control.CommID(4), said[len(said)-1].Free.Comm)
	require.Nil(t, e.find(4))
}

// TestDifferenceOfSomethingElse: of what this process has not joined, and what does not fit: nothing is made.
func TestDifferenceOfSomethingElse(t *testing.T) {
	for name, k := range map[string]struct {
		members []control.Proc
		seq     uint64
		want    string
	}{
		"not joined":  {[]control.Proc{1, 2, 3}, 1, `of whose operation "shrink" nothing is known here`},
		"not members": {[]control.Proc{1, 2}, 0, "processes are taken out that are not in communicator 2"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(2, 1)
			e.up = func(control.Message) {}
			e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2, 3}}, 0)
			(&communicator{e.ensure(control.Group{ID: 2, Procs: k.members}, 1)}).Shrink(driver.Options{})
			err := e.handle(differing(k.seq))
			require.ErrorIs(t, err, control.ErrMessage)
			require.ErrorContains(t, err, k.want)
			require.Nil(t, e.find(4))
		})
	}
}

// TestImpossibleDifferenceEndsARank: it returns the reason, and the job ends.
func TestImpossibleDifferenceEndsARank(t *testing.T) {
	for _, run := range []func(context.Context, InprocConfig, func(context.Context, *InprocRank) error) error{
		RunInproc,
		func(ctx context.Context, cfg InprocConfig, body func(context.Context, *InprocRank) error) error {
			return run(ctx, cfg, true, body)
		},
	} {
		err := run(t.Context(), InprocConfig{Ranks: 2}, func(ctx context.Context, r *InprocRank) error {
			if own := r.session.ep.self; own == 1 {
				r.cluster.post(func(_ time.Time) {
					r.cluster.daemonActions(r.cluster.nodes[0], []control.DaemonAction{{ToRank: &control.ToRank{Proc: own, Message: differing(0)}}})
				})
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, control.ErrMessage)
		require.ErrorContains(t, err, "communicator 4 is told as a difference from 2")
	}
}
