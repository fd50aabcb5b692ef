package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/timeline"
)

// script makes events of two ranks; times are in ms from the beginning of the job.
type script []timeline.Event

var beginning = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func (s *script) add(ms, epoch, rank int, what string, iteration, written, read int) {
	*s = append(*s, timeline.Event{
		At: beginning.Add(time.Duration(ms) * time.Millisecond), What: what, Epoch: epoch, Rank: rank, Iteration: iteration,
		Written: time.Duration(written) * time.Millisecond, Read: time.Duration(read) * time.Millisecond,
	})
}

// steps is an attempt from an iteration to the one before end, of 10 ms each, with versions for which the ranks wait 2
// and 4 ms. It begins at ms, and all ranks have begun to compute 5 ms later.
func (s *script) steps(ms, epoch, from, end, read int) {
	for rank := range 2 {
		s.add(ms+rank, epoch, rank, timeline.Entered, 0, 0, 0)
		s.add(ms+5, epoch, rank, timeline.Restored, from, 0, read+rank) // one has come later, and waited less
		for i := from; i < end; i++ {
			k := i - from
			s.add(ms+5+10*(k+1), epoch, rank, timeline.Done, i, k*(2+2*rank), read+rank)
		}
	}
}

func requireParts(t *testing.T, want [parts]float64, got times) {
	t.Helper()
	for p, v := range want {
		require.InDelta(t, v, got.part[p], 1e-9, partNames[p])
	}
	sum := 0.0
	for _, v := range got.part {
		sum += v
	}
	require.InDelta(t, got.total, sum, 1e-9)
}

func TestSplitWithoutFailure(t *testing.T) {
	var s script
	s.steps(100, 0, 0, 5, 1)
	s.add(200, 0, 0, timeline.Closed, 0, 10, 1)
	s.add(200, 0, 1, timeline.Closed, 0, 20, 1)
	got, err := split(300*time.Millisecond, s, 2)
	require.NoError(t, err)
	requireParts(t, [parts]float64{application: 0.280, writing: 0.020}, got)
}

// Rank 1 is killed after iteration 3, at 150 ms. By then the ranks have waited 6 and 12 ms for versions. What a survivor
// waits later, for one that cannot be complete, is recovery. The next attempt is complete at 201 ms, has read after 3 ms,
// and has done iteration 3 at 215 ms; on the way one version of iteration 2 was written once more.
func TestSplit(t *testing.T) {
	var s script
	s.steps(100, 0, 0, 4, 0)
	s.add(150, 0, 1, timeline.Killed, 3, 12, 0)
	s.add(180, 0, 0, timeline.Closed, 0, 36, 0)
	s.steps(200, 1, 2, 6, 3)
	got, err := split(400*time.Millisecond, s, 2)
	require.NoError(t, err)
	const rewritten = 0.004 // 2 and 4 ms
	requireParts(t, [parts]float64{
		writing:     0.012 + 0.012, // of either attempt
		recovery:    0.051,
		reading:     0.003,
		redone:      0.225 - 0.201 - 0.003 - rewritten,
		application: 0.400 - 0.024 - 0.051 - 0.003 - 0.017,
	}, got)
}

// Of a node all ranks may try to kill it: the first one does. An attempt that fails before all have come to it
// belongs to the recovery.
func TestSplitOfSeveralAttempts(t *testing.T) {
	var s script
	s.steps(100, 0, 0, 2, 0)
	s.add(131, 0, 1, timeline.Killed, 1, 0, 0)
	s.add(130, 0, 0, timeline.Killed, 1, 0, 0)
	s.add(170, 1, 0, timeline.Entered, 0, 0, 0)
	s.add(190, 1, 0, timeline.Closed, 0, 7, 0)
	s.steps(230, 2, 1, 3, 2)
	got, err := split(time.Second, s, 2)
	require.NoError(t, err)
	require.InDelta(t, 0.101, got.part[recovery], 1e-9)
	require.InDelta(t, 0.004+0.004, got.part[writing], 1e-9, "not what has failed after the failure")
	require.InDelta(t, 0.245-0.231-0.002, got.part[redone], 1e-9)
}

func TestSplitOfWhatWasNotNoted(t *testing.T) {
	whole := func() script {
		var s script
		s.steps(100, 0, 0, 3, 0)
		s.add(140, 0, 1, timeline.Killed, 2, 0, 0)
		s.steps(200, 1, 2, 4, 0)
		return s
	}
	_, err := split(time.Second, whole(), 2)
	require.NoError(t, err)
	_, err = split(time.Second, whole(), 3)
	require.ErrorContains(t, err, `2 of 3 ranks have noted "entered" in attempt 1`)
	for want, leave := range map[string]func(timeline.Event) bool{
		"without the failure":               func(e timeline.Event) bool { return e.What == timeline.Killed },
		"no attempt has followed":           func(e timeline.Event) bool { return e.Epoch == 1 },
		`noted "entered"`:                   func(e timeline.Event) bool { return e.Epoch == 1 && e.What == timeline.Entered && e.Rank == 0 },
		`noted "restored"`:                  func(e timeline.Event) bool { return e.Epoch == 1 && e.What == timeline.Restored && e.Rank == 1 },
		`"done" in attempt 1 (iteration 2)`: func(e timeline.Event) bool { return e.Epoch == 1 && e.Iteration == 2 && e.What == timeline.Done },
	} {
		var s script
		for _, e := range whole() {
			if !leave(e) {
				s = append(s, e)
			}
		}
		_, err := split(time.Second, s, 2)
		require.ErrorContains(t, err, want)
	}
}
