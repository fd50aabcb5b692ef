package embedded

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// TestBodiesReturnOneAfterTheOther: whoever waits for one hears of each, not only of
// those who had returned when the others were told first.
func TestBodiesReturnOneAfterTheOther(t *testing.T) {
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 4}, func(ctx context.Context, r *InprocRank) error {
		s := r.Session()
		c := s.Place().Comm
		if c.Rank() > 0 { // waits for the one before, which returns when it has waited
			_, err := c.Irecv(c.Rank()-1, 1, make([]byte, 8)).Wait(ctx)
			if want := errLeft(c.Rank() - 1); err == nil || err.Error() != want.Error() {
				return fmt.Errorf("%w instead of: %w", err, want)
			}
		}
		_, err := s.End(ctx, driver.Verdict{})
		return err
	}))
}

// TestSendsToAReturnedBody: what would wait for its receive ends; what is buffered does
// not wait.
func TestSendsToAReturnedBody(t *testing.T) {
	require.NoError(t, RunInproc(t.Context(), InprocConfig{Ranks: 2}, func(ctx context.Context, r *InprocRank) error {
		s := r.Session()
		c := s.Place().Comm
		large := make([]byte, eagerLimit+1)
		for range 2 * c.Rank() { // the second one after it is known
			if _, err := c.Isend(0, 1, large).Wait(ctx); err == nil || err.Error() != errLeft(0).Error() {
				return fmt.Errorf("%w instead of: %w", err, errLeft(0))
			}
			if _, err := c.Isend(0, 1, large[:1]).Wait(ctx); err != nil {
				return err
			}
		}
		_, err := s.End(ctx, driver.Verdict{})
		return err
	}))
}

// takesBack sends a message when others are taken back, as who is woken by that may.
type takesBack struct {
	transport
	again func()
}

func (w *takesBack) deliver(control.Proc)                                  {}
func (w *takesBack) send(_ control.Proc, _ envelope, _ pieces, r *request) { r.out = &outgoing{} }
func (w *takesBack) cancel(r *request, err error)                          { r.complete(driver.Status{}, err) }
func (w *takesBack) takeBack(control.Proc)                                 { w.again() }

// TestSendAgainToAReturnedBody: the next one ends as well, however soon it comes.
func TestSendAgainToAReturnedBody(t *testing.T) {
	e := newEndpoint(1, 0)
	c := &communicator{box: e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2}}, 0)}
	var r driver.Request
	e.wire = &takesBack{again: func() { r = c.Isend(1, 1, make([]byte, 1<<20)) }}
	e.handle(control.Message{Kind: control.KindFailed, Away: []control.Proc{2}})
	require.True(t, r.(*request).done(), "nobody will ever end it")
	_, err := r.Wait(t.Context())
	require.EqualError(t, err, errLeft(1).Error())
}

// TestNobodyElseIsLeft: who waits for a message of anybody hears of it, whatever the
// order in which one has left and the body of the other has returned.
func TestNobodyElseIsLeft(t *testing.T) {
	away := control.Message{Kind: control.KindFailed, Away: []control.Proc{2}}
	gone := control.Message{Kind: control.KindFailed, Left: []control.Proc{3}}
	for _, order := range [][]control.Message{{gone, away}, {away, gone}} {
		e := newEndpoint(1, 0)
		c := &communicator{box: e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2, 3}}, 0)}
		r := c.Irecv(driver.AnySource, 1, make([]byte, 1)).(*request)
		r.wake = make(chan struct{}, 1)
		r.state.Store(awaited)
		for _, m := range order {
			e.handle(m)
		}
		require.True(t, r.done(), "%v", order)
		require.ErrorIs(t, r.err, errDeserted)
	}
}

// TestLeftAndFailedAfterAll: who had left, as it seemed, has failed when the others are in
// a further zone. Whoever waits for a message of anybody hears of it.
func TestLeftAndFailedAfterAll(t *testing.T) {
	e := newEndpoint(1, 0)
	c := &communicator{box: e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2, 3}}, 0)}
	r := c.Irecv(driver.AnySource, 1, make([]byte, 1)).(*request)
	e.handle(control.Message{Kind: control.KindFailed, Left: []control.Proc{3}})
	require.False(t, r.done())
	e.handle(control.Message{Kind: control.KindFailed, Failed: []control.Proc{3}})
	require.True(t, r.done())
	require.ErrorIs(t, r.err, driver.ErrProcFailed)
	require.Equal(t, 2, c.box.present)
	<-c.box.failure
}
