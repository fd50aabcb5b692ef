package checkpoint

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
)

// The directory of a nested checkpoint is away: nothing but the record of the one around it tells
// that the stage need not begin anew, whichever run stored it.
func TestNestedCheckpointIsAway(t *testing.T) {
	for _, mode := range modes {
		for _, stage := range []string{"first", "behind a written version", "behind a restored version"} {
			t.Run(mode+", "+stage, func(t *testing.T) {
				dir := t.TempDir()
				var log syncBuffer
				// job writes a version of the outer one, if it is to, and then of the first inner one.
				job := func(outerToo, inner bool, opts ...Option) (restored bool, err error) {
					log = syncBuffer{}
					opts = append([]Option{WithPath(dir), WithSync(SyncNone), inMode(mode), loggedTo(&log)}, opts...)
					outer := stageOf(t, nil, "outer", opts)
					defer outer.Close()
					first, second := stageOf(t, outer, "first", opts), stageOf(t, outer, "second", opts)
					defer first.Close()
					defer second.Close()
					if err := outer.RestartIfNeeded(t.Context(), nil); err != nil {
						return false, err
					}
					for _, cp := range []*Checkpoint{second, first} {
						if err := cp.RestartIfNeeded(t.Context(), nil); err != nil {
							return false, err
						}
					}
					if outerToo {
						require.NoError(t, outer.Write(t.Context()))
						require.NoError(t, outer.Wait(t.Context()))
					}
					for range 2 {
						if inner {
							require.NoError(t, first.Write(t.Context()))
							require.NoError(t, first.Wait(t.Context()))
						}
					}
					return first.Stats().Restored, nil
				}
				strict := WithStrict()
				if stage == "behind a restored version" {
					_, err := job(true, false)
					require.NoError(t, err)
				}
				_, err := job(stage == "behind a written version", true)
				require.NoError(t, err)
				restored, err := job(false, false, strict)
				require.NoError(t, err)
				require.True(t, restored)

				home, away := filepath.Join(dir, "first"), filepath.Join(t.TempDir(), "away")
				require.NoError(t, os.Rename(home, away))
				for range 2 {
					_, err = job(false, false, strict)
					require.ErrorIs(t, err, ErrStrict)
					require.ErrorContains(t, err, "absent: "+home)
					require.NoError(t, os.RemoveAll(home))
				}
				restored, err = job(false, false)
				require.NoError(t, err)
				require.False(t, restored)
				require.Contains(t, log.String(), "the newest version is not used")
				require.NoError(t, os.RemoveAll(home))
				require.NoError(t, os.Rename(away, home))
				restored, err = job(false, false, strict)
				require.NoError(t, err)
				require.True(t, restored)

				_, err = job(true, false, strict) // another stage, in which nothing is missed
				require.NoError(t, err)
				require.NoError(t, os.RemoveAll(home))
				_, err = job(false, false, strict)
				require.NoError(t, err)
				require.NotContains(t, log.String(), "WARN")
			})
		}
	}
}

// What the record of a killed run says of nested checkpoints is there when their call has
// returned.
func TestNestedCheckpointsAreNamedAtOnce(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 1, versions: 1, stage: true}
	job.goes(t, n, came{0, 0, 1})
	job.stage = false
	job.goes(t, n, came{1, 0, 1})
	require.NoError(t, os.RemoveAll(filepath.Join(n.dir, "pfs", "inner")))
	require.NotEmpty(t, glob(t, filepath.Join(n.dir, "pfs", "outer", filestore.RecordPrefix+"*")))
	job.opts = []Option{WithStrict()}
	_, _, err := job.killed(t, n)
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, "present stage")
}

// family is an outer checkpoint and siblings in it, of one process.
type family struct {
	outer    *Checkpoint
	siblings []*Checkpoint
}

// openFamily restarts it, and returns what was restored.
func openFamily(t *testing.T, dir string, names []string, opts ...Option) (f family, restored []uint64, err error) {
	t.Helper()
	opts = append([]Option{WithPath(dir), WithSync(SyncNone), WithLogger(slog.New(slog.DiscardHandler))}, opts...)
	f.outer = stageOf(t, nil, "outer", opts)
	t.Cleanup(func() { _ = f.outer.Close() })
	for _, name := range names {
		f.siblings = append(f.siblings, stageOf(t, f.outer, name, opts))
	}
	for _, cp := range append([]*Checkpoint{f.outer}, f.siblings...) {
		if err := cp.RestartIfNeeded(t.Context(), nil); err != nil {
			return f, restored, errors.Join(err, f.close())
		}
		restored = append(restored, cp.line.attempt.origin.Version)
	}
	return f, restored, nil
}

func (f family) close() error {
	var all error
	for _, cp := range slices.Backward(f.siblings) {
		all = errors.Join(all, cp.Close())
	}
	return errors.Join(all, f.outer.Close())
}

// A stage that no restart can come to, as the outer version before it was not due, has nothing
// stored, and misses nothing: the nested checkpoint is made anew for each stage.
func TestNothingIsMissedInAStageThatIsNotStored(t *testing.T) {
	dir := t.TempDir()
	f, _, err := openFamily(t, dir, []string{"inner"})
	require.NoError(t, err)
	require.NoError(t, errors.Join(f.outer.UpdateAndWrite(t.Context(), 0, 2), f.siblings[0].Write(t.Context()), f.close()))
	f, restored, err := openFamily(t, dir, []string{"inner"}, WithStrict())
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 1}, restored)
	require.NoError(t, errors.Join(f.siblings[0].Write(t.Context()), f.siblings[0].Close()))
	require.NoError(t, f.outer.UpdateAndWrite(t.Context(), 1, 2))
	inner := stageOf(t, f.outer, "inner", []Option{WithPath(dir), WithSync(SyncNone), WithStrict(), WithLogger(slog.New(slog.DiscardHandler))})
	require.NoError(t, inner.RestartIfNeeded(t.Context(), nil))
	require.NoError(t, errors.Join(inner.Close(), f.outer.Close()))
}

// Siblings are named also if one settles a version of the stage before after another one has
// stored one of the present stage.
func TestSiblingsStayNamed(t *testing.T) {
	dir := t.TempDir()
	f, _, err := openFamily(t, dir, []string{"b", "a"}, inMode("copy"))
	require.NoError(t, err)
	b, a := f.siblings[0], f.siblings[1]
	require.NoError(t, errors.Join(a.Write(t.Context()), f.outer.Write(t.Context()), f.outer.Wait(t.Context())))
	require.NoError(t, errors.Join(b.Write(t.Context()), b.Wait(t.Context())))
	require.NoError(t, errors.Join(a.Write(t.Context()), a.Wait(t.Context())))
	require.NoError(t, f.close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "b")))
	_, _, err = openFamily(t, dir, []string{"b", "a"}, WithStrict())
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, "absent: "+filepath.Join(dir, "b"))
}

// What records say of the present stage is not forgotten after many starts that write nothing.
func TestNestedCheckpointsStayNamed(t *testing.T) {
	dir := t.TempDir()
	f, _, err := openFamily(t, dir, []string{"inner"})
	require.NoError(t, err)
	require.NoError(t, errors.Join(f.outer.Write(t.Context()), f.siblings[0].Write(t.Context()), f.close()))
	for range 12 {
		f, _, err = openFamily(t, dir, []string{"inner"}, WithStrict())
		require.NoError(t, err)
		require.NoError(t, f.close())
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "inner")))
	_, _, err = openFamily(t, dir, []string{"inner"}, WithStrict())
	require.ErrorContains(t, err, "absent: ")
}

// A nested checkpoint goes on with the computation before a fresh start that stored nothing:
// then all do, and nothing of it is abandoned by the next start.
func TestSiblingsAreOfOneComputation(t *testing.T) {
	dir, names := t.TempDir(), []string{"a", "b"}
	f, _, err := openFamily(t, dir, names)
	require.NoError(t, err)
	require.NoError(t, errors.Join(f.siblings[0].Write(t.Context()), f.close()))
	f, _, err = openFamily(t, dir, names, freshStart)
	require.NoError(t, err)
	require.NoError(t, f.close())
	f, restored, err := openFamily(t, dir, names, WithStrict(AllowLineage))
	require.NoError(t, err)
	require.Equal(t, []uint64{0, 1, 0}, restored)
	require.NoError(t, errors.Join(f.siblings[0].Write(t.Context()), f.siblings[1].Write(t.Context()), f.close()))
	f, restored, err = openFamily(t, dir, names, WithStrict())
	require.NoError(t, err)
	require.Equal(t, []uint64{0, 2, 1}, restored)
	require.NoError(t, f.close())
}

// What a record of a computation that was abandoned two fresh starts ago names is missed by nobody.
func TestNothingOfAbandonedComputationsIsMissed(t *testing.T) {
	dir, names := t.TempDir(), []string{"a", "b"}
	writes := func(outer bool, siblings int, opts ...Option) {
		f, _, err := openFamily(t, dir, names, opts...)
		require.NoError(t, err)
		if outer {
			require.NoError(t, f.outer.Write(t.Context()))
		}
		for _, cp := range f.siblings[:siblings] {
			require.NoError(t, cp.Write(t.Context()))
		}
		require.NoError(t, f.close())
	}
	writes(false, 2)
	writes(true, 0, freshStart)
	writes(false, 2)
	writes(false, 1, freshStart)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "b"))) // as if all of b had been deleted as abandoned
	f, _, err := openFamily(t, dir, names, WithStrict())
	require.NoError(t, err)
	require.NoError(t, f.close())
}
