package jobs_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/timeline"
)

// TestTimeline: all ranks note the parts of each attempt, in this order, and the one that dies notes that.
func TestTimeline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	t.Setenv(timeline.Variable, path)
	l, err := parse("-cp-path", t.TempDir(), "-freq", "2")
	require.NoError(t, err)
	l.Kills = jobs.Kills{{What: "rank", Number: 1, At: 5}}
	job(t, l)
	events, err := timeline.Read(path)
	require.NoError(t, err)

	noted := make(map[timeline.Event]int) // without when, where and how long
	last := make(map[int]timeline.Event)
	for _, e := range events {
		before := last[e.Rank]
		require.False(t, e.At.Before(before.At))
		if e.Epoch == before.Epoch {
			require.GreaterOrEqual(t, e.Written, before.Written)
		}
		last[e.Rank] = e
		noted[timeline.Event{What: e.What, Epoch: e.Epoch, Iteration: e.Iteration}]++
		switch {
		case e.What == timeline.Killed:
			require.Equal(t, 1, e.Rank)
		case e.What == timeline.Restored:
			require.Positive(t, e.Read)
		case e.What == timeline.Closed && e.Epoch == 1:
			require.Positive(t, e.Written)
		}
	}
	want := map[timeline.Event]int{
		{What: timeline.Entered}:                          3,
		{What: timeline.Restored}:                         3,
		{What: timeline.Killed, Iteration: 5}:             1,
		{What: timeline.Entered, Epoch: 1}:                3,
		{What: timeline.Restored, Epoch: 1, Iteration: 5}: 3,
		{What: timeline.Closed, Epoch: 1}:                 3,
	}
	for iter := range 6 {
		want[timeline.Event{What: timeline.Done, Iteration: iter}] = 3
	}
	for iter := 5; iter < 10; iter++ {
		want[timeline.Event{What: timeline.Done, Epoch: 1, Iteration: iter}] = 3
	}
	closed := timeline.Event{What: timeline.Closed}
	require.GreaterOrEqual(t, noted[closed], 2, "a goroutine that dies may close it")
	delete(noted, closed)
	require.Equal(t, want, noted)
}
