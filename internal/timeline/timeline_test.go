package timeline

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What several processes note at the same time are whole lines.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	t.Setenv(Variable, path)
	began := time.Now()
	var all sync.WaitGroup
	for rank := range 8 {
		log, err := FromEnvironment()
		require.NoError(t, err)
		require.True(t, log.Watched())
		all.Go(func() {
			for i := range 50 {
				if err := log.Add(Event{What: Done, Rank: rank, Iteration: i, Written: time.Duration(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	events, err := Read(path)
	require.NoError(t, err)
	require.Len(t, events, 400)
	next := make(map[int]int)
	for _, e := range events {
		require.Equal(t, next[e.Rank], e.Iteration)
		require.Equal(t, time.Duration(e.Iteration), e.Written)
		require.WithinRange(t, e.At, began.Add(-time.Second), time.Now().Add(time.Second))
		next[e.Rank]++
	}
}

func TestNobodyWatches(t *testing.T) {
	t.Setenv(Variable, "")
	log, err := FromEnvironment()
	require.NoError(t, err)
	require.False(t, log.Watched())
	require.NoError(t, log.Add(Event{What: Killed}))
}

func TestMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	require.NoError(t, os.WriteFile(path, []byte("{}\nx\n"), 0o600))
	_, err := Read(path)
	require.ErrorContains(t, err, "events: line 2: ")
	_, err = Read(path + "-absent")
	require.ErrorIs(t, err, os.ErrNotExist)
	t.Setenv(Variable, filepath.Join(path, "below"))
	_, err = FromEnvironment()
	require.ErrorContains(t, err, Variable)
}
