package checkpoint

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// The end of a job that has lost a process, and has no time to repair it, is that of the job, unless it would be so for ever.
func TestExitCodeOfARecoveryThatIsTooLate(t *testing.T) {
	t.Setenv("CRAFT_REQUEUE_CODE", "99")
	code := func(c demand.Cause) int {
		return ExitCode(fmt.Errorf("around: %w", errors.Join(errors.New("recovery"), &demand.EndError{Cause: c})))
	}
	for cause, want := range map[demand.Cause]int{demand.Deadline: 99, demand.Halt: ExitHalted, demand.Interrupt: ExitInterrupt} {
		require.Equal(t, want, code(cause), cause)
	}
	var y yield
	require.False(t, y.endless())
	y.begun(tooManyStarts - 2)
	require.False(t, y.endless())
	y.fruitless.Store(0)
	y.begun(tooManyStarts - 1)
	require.True(t, y.endless())
	y.begun(tooManyStarts) // of another checkpoint
	require.True(t, y.endless())
	y.stored.Store(true)
	require.False(t, y.endless())
}

// Starts that have stored versions of one of two checkpoints side by side are not fruitless, or where one of them is new; what is nested tells nothing.
func TestFruitlessStartsOfCheckpointsSideBySide(t *testing.T) {
	for _, c := range []struct {
		name    string
		side    []storage.Record // of the one beside; nil: it is new
		nested  bool
		endless bool
	}{
		{"both are fruitless", []storage.Record{{End: "end"}, {End: "end"}}, false, true},
		{"the other one has got on", []storage.Record{{End: "end"}, {End: "end", NestedWritten: true}}, false, false},
		{"the other one is new", nil, false, false},
		{"the other one is nested", nil, true, true},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, first), func(t *testing.T) {
				dir := t.TempDir()
				leaveRecords(t, dir, "fruitless", storage.Record{End: "end"}, storage.Record{End: "end"})
				leaveRecords(t, dir, "other", c.side...)
				ofStarts.fruitless.Store(0)
				ofStarts.stored.Store(false)
				names := []string{"fruitless", "other"}
				if !first && !c.nested {
					slices.Reverse(names)
				}
				var all []*Checkpoint
				for _, name := range names {
					cp, err := New(name, nil, WithPath(dir), withPoint(demand.NewLocal()), WithLogger(slog.New(slog.DiscardHandler)))
					require.NoError(t, err)
					all = append(all, cp)
					require.NoError(t, errors.Join(cp.Add("x", new(int)), cp.Commit()))
					if len(all) > 1 && c.nested {
						require.NoError(t, all[0].SubCP(cp))
					}
					require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
				}
				require.Equal(t, c.endless, ofStarts.endless())
				require.NoError(t, errors.Join(all[1].Close(), all[0].Close()))
			})
		}
	}
}

// A start is not recorded as fruitless for a checkpoint whose calls do not come any more while another one gets on: one that is stored
// once, before the loop.
func TestRecordsOfACheckpointBesideOneThatGetsOn(t *testing.T) {
	for _, c := range []struct {
		name           string
		stored, begun  bool // of the one beside: it has a version; one is being written in the background
		missed         string
		gotOn          bool
		fruitlessAfter int
	}{
		{"nothing is stored", false, false, "end", false, 1},
		{"the other one has stored", true, false, "", true, 0},
		{"the other one is storing", false, true, "", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, point := t.TempDir(), demand.NewLocal()
			var all []*Checkpoint
			for _, name := range []string{"once", "loop"} {
				cp, err := New(name, nil, WithPath(dir), withPoint(point), WithLogger(slog.New(slog.DiscardHandler)))
				require.NoError(t, err)
				require.NoError(t, errors.Join(cp.Add("x", new(int)), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
				all = append(all, cp)
			}
			once, loop := all[0], all[1]
			if c.stored {
				require.NoError(t, loop.UpdateAndWrite(t.Context(), 0, 1))
			}
			if c.begun {
				loop.line.flight.Store(new(flight))
			}
			recordMissed(t.Context(), once.up, &demand.Demanded{Demand: end("x")})
			loop.line.flight.Store(nil)
			records := func() []storage.Record {
				runs, err := once.home.Records(t.Context())
				require.NoError(t, err)
				require.Len(t, runs, 1)
				return runs
			}
			require.Equal(t, c.missed, records()[0].End)
			point.Ask(end("x"))
			require.NoError(t, errors.Join(loop.Close(), once.Close()))
			require.NotEmpty(t, records()[0].End)
			require.Equal(t, c.gotOn, records()[0].StartWritten)
			require.Equal(t, c.fruitlessAfter, storage.Fruitless(records(), storage.ID{}, false))
		})
	}
}

// leaveRecords leaves those of earlier starts of a checkpoint, which have ended.
func leaveRecords(t *testing.T, dir, name string, runs ...storage.Record) {
	store, err := filestore.New(filestore.Config{Path: dir, Name: name})
	require.NoError(t, errors.Join(err, filestore.MakeDir(store)))
	for i, r := range runs {
		start := time.Now().Add(time.Duration(i-len(runs)) * time.Hour)
		r.Format, r.Checkpoint, r.Attempt, r.Started, r.Updated, r.Ended = 1, name, hex.EncodeToString([]byte{0, 0, 0, 0, 0, 0, 0, byte(1 + i)}), start, start, &start
		require.NoError(t, store.Record(t.Context(), r))
	}
}
