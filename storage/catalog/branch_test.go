package catalog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func TestLine(t *testing.T) {
	at := func(version uint64, attempt byte) storage.ID {
		return storage.ID{Version: version, Attempt: container.AttemptID{attempt}}
	}
	// Attempt 1 wrote 1 to 5; 2 went on from 3, with 6 and 7; 3 from 6, with 8.
	o := Origins{{2}: at(3, 1), {3}: at(6, 2)}
	for _, c := range []struct {
		to  storage.ID
		out []storage.ID // of other branches
		in  []storage.ID
	}{
		{at(8, 3), []storage.ID{at(4, 1), at(5, 1), at(7, 2), at(9, 4), at(4, 4)}, []storage.ID{at(1, 1), at(3, 1), at(6, 2), at(8, 3), at(2, 4)}},
		{at(5, 1), []storage.ID{at(6, 2)}, []storage.ID{at(4, 1)}},
		{at(9, 4), []storage.ID{at(10, 5)}, []storage.ID{at(8, 3), at(5, 1)}}, // of an old program: nothing is known
	} {
		line := o.Line(c.to)
		for _, id := range c.out {
			require.True(t, line.LeavesOut(id), "%v is on the line to %v", id, c.to)
		}
		for _, id := range c.in {
			require.False(t, line.LeavesOut(id), "%v is not on the line to %v", id, c.to)
		}
	}
	// Attempt 2 came from 1, so that 1 does not come from it, wherever that came from.
	require.True(t, Origins{{2}: at(3, 1)}.Line(at(6, 1)).LeavesOut(at(4, 2)))
	require.True(t, Origins{{2}: at(3, 1), {3}: at(4, 2)}.Line(at(6, 1)).LeavesOut(at(5, 3)))
	require.True(t, o.Line(at(8, 3)).Passes(container.AttemptID{1}))
	require.False(t, o.Line(at(5, 1)).Passes(container.AttemptID{2}))
	// Hostile headers do not hold anybody up.
	round := Origins{{1}: at(9, 2), {2}: at(8, 1)}
	require.True(t, round.Line(at(5, 1)).LeavesOut(at(6, 1)))
}

func TestGoneOnFrom(t *testing.T) {
	at := func(version uint64, attempt byte) storage.ID {
		return storage.ID{Version: version, Attempt: container.AttemptID{attempt}}
	}
	run := func(attempt byte, change func(*storage.Record)) storage.Record {
		r := storage.Record{
			Attempt: fmt.Sprintf("%02x00000000000000", attempt), RestoredVersion: 1, RestoredAttempt: "0100000000000000", LastVersion: 2, NestedStored: true,
		}
		change(&r)
		return r
	}
	plain := run(2, func(*storage.Record) {})
	idle := run(3, func(r *storage.Record) { r.NestedStored = false })
	both := []storage.ID{at(1, 1), at(2, 1)}
	for name, c := range map[string]struct {
		runs   []storage.Record
		stored []storage.ID
		want   storage.ID
	}{
		"the last run":                {[]storage.Record{plain}, both, at(1, 1)},
		"one before it":               {[]storage.Record{plain, idle, idle}, both, at(1, 1)},
		"no run":                      {nil, both, storage.ID{}},
		"nothing nested":              {[]storage.Record{idle}, both, storage.ID{}},
		"a version since":             {[]storage.Record{plain, run(3, func(r *storage.Record) { r.LastWritten = 3 })}, both, storage.ID{}},
		"begun anew since":            {[]storage.Record{plain, run(3, func(r *storage.Record) { r.NestedStored, r.AnewStored = false, true })}, both, storage.ID{}},
		"one of its own":              {[]storage.Record{plain}, append(both, at(2, 2)), storage.ID{}},
		"a newer one":                 {[]storage.Record{plain}, append(both, at(3, 4)), storage.ID{}},
		"it is gone":                  {[]storage.Record{plain}, both[1:], storage.ID{}},
		"nothing was restored":        {[]storage.Record{run(2, func(r *storage.Record) { r.RestoredAttempt = "" })}, both, storage.ID{}},
		"it says what makes no sense": {[]storage.Record{run(2, func(r *storage.Record) { r.RestoredVersion = 0 })}, both, storage.ID{}},
	} {
		require.Equal(t, c.want, GoneOnFrom(c.runs, c.stored), name)
	}
}
