package comm_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/single"
)

func TestSessionOfOneProcess(t *testing.T) {
	s := comm.NewSession(single.NewSession())
	c := s.Place().Comm
	require.Same(t, s, c.Session())
	for _, v := range []comm.Verdict{{}, {Err: "own"}, {Failure: true}} {
		zone := s.Place().Zone
		out, err := s.Zone().End(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, comm.Outcome{Err: v.Err, Repair: v.Failure}, out)
		require.Equal(t, zone+1, s.Place().Zone+map[bool]int{true: 1}[v.Failure], "a zone that is repaired has not ended")
	}
	s.Zone().Revoke()
	change, err := s.Zone().Repair(t.Context(), comm.Policy{Recovery: comm.NonShrinking, Spawn: comm.Reuse})
	require.NoError(t, err)
	require.Equal(t, comm.Change{Epoch: 1, Ranks: []comm.Rank{0}}, change)
	require.NotSame(t, c, s.Place().Comm)
	require.NoError(t, comm.Barrier(t.Context(), s.Place().Comm))
	s.Zone().CountRecovery(7)
	repairs, total := s.Recovered()
	require.Equal(t, 1, repairs)
	require.EqualValues(t, 7, total)
	require.NoError(t, s.Close(t.Context()))
	require.Nil(t, comm.SessionOf(t.Context()))
	require.Same(t, s, comm.SessionOf(comm.WithSession(t.Context(), s)))
}

// TestSessionOfNoJob: it has nothing to end, and says so where something was to be agreed on.
func TestSessionOfNoJob(t *testing.T) {
	s := comm.Self().Session()
	s.Zone().Revoke()
	s.Step(1)
	s.Zone().Running(new(comm.Policy))
	s.Zone().Quit("nobody is there")
	_, err := s.Zone().End(t.Context(), comm.Verdict{})
	require.ErrorIs(t, err, comm.ErrUnsupported)
	_, err = s.Zone().Repair(t.Context(), comm.Policy{})
	require.ErrorIs(t, err, comm.ErrUnsupported)
	require.ErrorContains(t, err, "belongs to no job")
	require.NoError(t, s.Zone().Rebind())
	require.NoError(t, s.Close(t.Context()))
}

// TestStepOfTheNextZone: observers are not told how far the zone before was.
func TestStepOfTheNextZone(t *testing.T) {
	s := comm.NewSession(single.NewSession())
	var steps []int64
	s.Observe(&comm.Observer{Collective: func(c comm.Collective) func(error) { steps = append(steps, c.Step); return nil }})
	s.Step(7)
	for range 2 {
		_, err := s.Zone().End(t.Context(), comm.Verdict{})
		require.NoError(t, err)
	}
	s.Step(8)
	_, err := s.Zone().End(t.Context(), comm.Verdict{Failure: true})
	require.NoError(t, err)
	_, err = s.Zone().Repair(t.Context(), comm.Policy{})
	require.NoError(t, err)
	require.Equal(t, []int64{7, 0, 8, 8}, steps)
}

// TestRevokeWhileABodyEnds is for the race detector: any goroutine may revoke.
func TestRevokeWhileABodyEnds(t *testing.T) {
	s := comm.NewSession(single.NewSession())
	var other sync.WaitGroup
	other.Go(s.Zone().Revoke)
	_, err := s.Zone().End(t.Context(), comm.Verdict{Err: "own"})
	require.NoError(t, err)
	other.Wait()
}

// TestPlaceWhileItChanges is for the race detector: programs have the session, too.
func TestPlaceWhileItChanges(t *testing.T) {
	s := comm.NewSession(single.NewSession())
	var looking sync.WaitGroup
	looking.Go(func() {
		for s.Place().Epoch < 10 {
			runtime.Gosched()
		}
	})
	for range 10 {
		_, err := s.Zone().Repair(t.Context(), comm.Policy{})
		require.NoError(t, err)
	}
	looking.Wait()
	require.Zero(t, comm.Self().Session().Place(), "it belongs to no job")
}

// The latest first; whoever is called may take others back; each once.
func TestHooks(t *testing.T) {
	s := comm.NewSession(single.NewSession())
	var order []string
	note := func(what string, err error) func(context.Context) error {
		return func(context.Context) error { order = append(order, what); return err }
	}
	errFirst, errThird := errors.New("first"), errors.New("third")
	s.OnRepair(note("first", errFirst))
	removeSecond := s.OnRepair(note("second", nil))
	var removeThird func()
	removeThird = s.OnRepair(func(ctx context.Context) error {
		removeSecond()
		removeThird()
		return note("third", errThird)(ctx)
	})
	s.OnRepair(note("fourth", nil))
	err := s.Zone().Hooks(t.Context())
	require.ErrorIs(t, err, errFirst)
	require.ErrorIs(t, err, errThird)
	require.Equal(t, []string{"fourth", "third", "first"}, order)
	require.NoError(t, s.Zone().Hooks(t.Context()))
	require.Len(t, order, 3)
}
