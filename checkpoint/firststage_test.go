package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
)

// staged is a job of an outer and an inner checkpoint.
type staged struct {
	levels, mode string
	who          int  // the computation, if nothing of one is restored
	versions     int  // of the inner one that the job writes, one in each iteration
	stage        bool // the job ends a stage then
	opts         []Option
}

// came is where a job goes on: the next iteration of both, and whose computation it is.
type came struct{ outer, inner, who int }

// killed runs a job that is killed when it has written that.
func (s staged) killed(t *testing.T, n *testNodes) (at came, log string, err error) {
	t.Helper()
	var out syncBuffer
	image, taken := t.TempDir(), false // of what it leaves
	err = afttest.Run(t.Context(), len(n.of), func(ctx context.Context, c *comm.Comm) error {
		opts := append(n.options(c.Rank(), s.levels, inMode(s.mode), WithLogger(slog.New(slog.NewTextHandler(&out, nil)))), s.opts...)
		outer, err := New("outer", c, opts...)
		require.NoError(t, err)
		defer outer.Close()
		inner, err := New("inner", c, opts...)
		require.NoError(t, err)
		defer inner.Close()
		here, whose := came{who: s.who}, 0
		require.NoError(t, errors.Join(outer.Add("who", cptypes.Replicated(&here.who)), inner.Add("who", cptypes.Replicated(&whose)),
			outer.Commit(), inner.Commit(), outer.SubCP(inner)))
		if err := outer.RestartIfNeeded(ctx, &here.outer); err != nil {
			return err
		}
		whose = here.who
		if err := inner.RestartIfNeeded(ctx, &here.inner); err != nil {
			return err
		}
		if c.Rank() == 0 {
			at = came{here.outer, here.inner, whose}
		}
		here.who = whose
		for i := range s.versions {
			if err := errors.Join(inner.UpdateAndWrite(ctx, here.inner+i, 1), inner.Wait(ctx)); err != nil {
				return err
			}
		}
		if s.stage {
			if err := errors.Join(outer.UpdateAndWrite(ctx, here.outer, 1), outer.Wait(ctx)); err != nil {
				return err
			}
		}
		if err := errors.Join(inner.up.maintenanceDone(ctx), outer.up.maintenanceDone(ctx)); err != nil {
			return err
		}
		for i := range 2 { // nobody writes while rank 0 takes the image
			if _, err := comm.AllreduceOne(ctx, c, 0, comm.Sum[int]); err != nil {
				return err
			}
			if c.Rank() == 0 && i == 0 {
				require.NoError(t, os.CopyFS(image, os.DirFS(n.dir)))
				taken = true
			}
		}
		return nil
	})
	if taken {
		require.NoError(t, os.RemoveAll(n.dir))
		require.NoError(t, os.Rename(image, n.dir))
		for _, place := range glob(t, filepath.Join(n.dir, "node*", "*")) { // the copy is open to others
			require.NoError(t, os.Chmod(place, 0o700))
		}
		for _, lock := range glob(t, filepath.Join(n.dir, "*", "*", filestore.LockName)) {
			require.NoError(t, os.Remove(lock))
		}
	}
	return at, out.String(), err
}

// goes is killed for a job that is to go on at a point.
func (s staged) goes(t *testing.T, n *testNodes, from came) (log string) {
	t.Helper()
	at, log, err := s.killed(t, n)
	require.NoError(t, err, log)
	require.Equal(t, from, at, log)
	return log
}

// begunAnew is a directory with a computation, 1, that has ended a stage, and one that was
// begun anew, 2, and killed in its first stage.
func (s staged) begunAnew(t *testing.T, n *testNodes, versions int) {
	t.Helper()
	s.who, s.versions, s.stage = 1, 2, true
	s.goes(t, n, came{0, 0, 1})
	s.stage = false
	s.goes(t, n, came{1, 0, 1})
	s.who, s.versions, s.opts = 2, versions, append([]Option{freshStart}, s.opts...)
	s.goes(t, n, came{0, 0, 2})
}

// A computation that was begun anew is gone on with in its first stage, of which the
// outermost checkpoint has no version but those of the computation before.
func TestFirstStageIsGoneOnWith(t *testing.T) {
	strict := []Option{WithStrict()}
	for _, of := range [][]int{{0}, {0, 1}} {
		for _, levels := range []string{"", "local", "partner:2,local:1"} {
			for _, mode := range sample(t, modes, 3) {
				for _, versions := range sample(t, []int{0, 1, 2}, 2) {
					if levels != "" && len(of) == 1 && levels != "local" {
						continue
					}
					t.Run(fmt.Sprintf("%d ranks, levels %q, %s, %d versions", len(of), levels, mode, versions), func(t *testing.T) {
						n, job := newTestNodes(t, of...), staged{levels: levels, mode: mode, who: 3}
						job.begunAnew(t, n, versions)
						job.opts = strict
						if versions == 0 {
							_, _, err := job.killed(t, n)
							require.ErrorContains(t, err, "lineage: ")
							require.ErrorContains(t, err, "CRAFT_READ_CP_ON_RESTART=0")
							job.opts = nil
							require.Contains(t, job.goes(t, n, came{1, 2, 1}), "began anew")
							return
						}
						job.versions = 1
						require.Contains(t, job.goes(t, n, came{0, versions, 2}), "gone on with in its first stage")
						job.versions = 0
						job.goes(t, n, came{0, versions + 1, 2})
						job.versions, job.stage = 1, true
						job.goes(t, n, came{0, versions + 1, 2})
						job.versions, job.stage = 1, false
						require.NotContains(t, job.goes(t, n, came{1, 0, 2}), "level=WARN")
						job.goes(t, n, came{1, 1, 2})
					})
				}
			}
		}
	}
}

// A second one that was begun anew and has stored nothing is not gone on with in silence, and
// what is gone on with is the first one.
func TestFirstStageBeforeAnotherFreshStart(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 3}
	job.begunAnew(t, n, 2)
	job.opts = []Option{freshStart}
	job.goes(t, n, came{0, 0, 3})
	job.opts = []Option{WithStrict()}
	_, _, err := job.killed(t, n)
	require.ErrorContains(t, err, "lineage: ")
	job.opts = []Option{WithStrict(AllowLineage)}
	require.Contains(t, job.goes(t, n, came{0, 2, 2}), "began anew")
	job.opts = []Option{WithStrict()}
	job.goes(t, n, came{0, 2, 2})
}

// A run that has left no record has begun another computation since.
func TestFirstStageBeforeARunWithoutRecord(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 3, stage: true}
	job.begunAnew(t, n, 2)
	job.opts = []Option{freshStart, func(o *options) { o.Record = false }}
	job.goes(t, n, came{0, 0, 3})
	job.opts = nil
	job.goes(t, n, came{1, 0, 3})
}

// What is lost of the computation before is missed by nobody, but where it was, another
// problem is not begun.
func TestFirstStageAfterLosses(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 3, opts: []Option{WithFingerprint("a")}}
	job.begunAnew(t, n, 2)
	job.opts = []Option{WithStrict(), WithFingerprint("b")}
	_, _, err := job.killed(t, n)
	require.ErrorIs(t, err, ErrFingerprint)
	require.ErrorContains(t, err, `"outer"`)
	for _, dir := range glob(t, filepath.Join(n.dir, "pfs", "outer", "v-*")) {
		require.NoError(t, os.RemoveAll(dir))
	}
	job.opts[1] = WithFingerprint("a")
	job.goes(t, n, came{0, 2, 2})
}

// What nodes have lost of the computation before refuses no strict start.
func TestFirstStageAfterLossesOnNodes(t *testing.T) {
	for _, node := range []int{0, 1} {
		n, job := newTestNodes(t, 0, 1), staged{levels: "local", mode: "off", who: 3}
		job.begunAnew(t, n, 2)
		for _, dir := range glob(t, filepath.Join(n.node(node), "outer-*", "v-*")) {
			require.NoError(t, os.RemoveAll(dir))
		}
		job.opts = []Option{WithStrict()}
		job.versions = 1
		job.goes(t, n, came{0, 2, 2})
		job.versions, job.stage = 0, true
		job.goes(t, n, came{0, 3, 2})
		job.stage = false
		job.goes(t, n, came{1, 0, 2})
	}
}

// While the first version of the outer checkpoint is on its way, a restart would use those of
// the stage that it ends, though it has versions of an older computation.
func TestFirstStageUntilItsEndIsStored(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "copy", who: 3}
	job.begunAnew(t, n, 2)
	opts := append(n.options(0, "", inMode("copy")), WithLogger(slog.New(slog.DiscardHandler)))
	outer, err := New("outer", nil, opts...)
	require.NoError(t, err)
	defer outer.Close()
	inner, err := New("inner", nil, opts...)
	require.NoError(t, err)
	defer inner.Close()
	who, whose, ctx := 3, 3, t.Context()
	require.NoError(t, errors.Join(outer.Add("who", cptypes.Replicated(&who)), inner.Add("who", cptypes.Replicated(&whose)),
		outer.Commit(), inner.Commit(), outer.SubCP(inner), outer.RestartIfNeeded(ctx, nil), inner.RestartIfNeeded(ctx, nil)))
	require.Equal(t, 2, whose)
	require.NoError(t, outer.Write(ctx)) // nobody has asked yet what became of it
	for range 3 {
		require.NoError(t, errors.Join(inner.Write(ctx), inner.Wait(ctx)))
	}
	first := func(v catalog.Version) bool { return v.Header.Ancestors[0].Version == 0 }
	require.True(t, slices.ContainsFunc(inner.line.stored.All(), first))
	require.NoError(t, outer.Wait(ctx))
	require.False(t, slices.ContainsFunc(inner.line.stored.All(), first))
}

// Of several nested checkpoints one has a version of the computation that was begun anew: the
// others begin their stage, whatever they have of the one before.
func TestFirstStageOfSiblings(t *testing.T) {
	dir := t.TempDir()
	job := func(write string, opts ...Option) (restored []bool) {
		opts = append([]Option{WithPath(dir), WithSync(SyncNone), WithLogger(slog.New(slog.DiscardHandler))}, opts...)
		outer := stageOf(t, nil, "outer", opts)
		defer outer.Close()
		require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
		around := outer
		for _, name := range []string{"first", "second", "third"} {
			inner := stageOf(t, around, name, opts)
			defer inner.Close()
			require.NoError(t, inner.RestartIfNeeded(t.Context(), nil))
			restored = append(restored, inner.Stats().Restored)
			if name == "second" { // the third is nested in it
				around = inner
			}
			if write == name || write == "all" && name != "second" {
				require.NoError(t, inner.Write(t.Context()))
			}
		}
		return restored
	}
	job("all")
	require.Equal(t, []bool{true, false, true}, job("none", WithStrict()))
	job("third", freshStart)
	for range 2 {
		require.Equal(t, []bool{false, false, true}, job("none", WithStrict()))
	}
	require.Equal(t, []bool{false, false, true}, job("first", WithStrict()))
	require.Equal(t, []bool{true, false, true}, job("none", WithStrict()))
}

// A record that cannot be written is tried again with the next version, and it is said.
func TestFirstStageThatCannotBeRecorded(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 1, versions: 1, stage: true}
	job.goes(t, n, came{0, 0, 1})
	var log syncBuffer
	full := false
	opts := append(n.options(0, "", freshStart), loggedTo(&log), withFS(vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if full && op.Kind == vfs.OpCreate && strings.Contains(op.Path, "outer/."+filestore.RecordPrefix) {
			return syscall.ENOSPC
		}
		return nil
	})))
	outer := stageOf(t, nil, "outer", opts)
	inner := stageOf(t, outer, "inner", opts)
	require.NoError(t, errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil)))
	for _, full = range []bool{true, false} {
		require.NoError(t, inner.Write(t.Context()))
		records, err := outer.home.Records(t.Context())
		require.NoError(t, err)
		require.Equal(t, full, storage.BegunAnew(records) == nil)
	}
	require.Equal(t, 1, strings.Count(log.String(), "the record of the run is not written"))
	require.NoError(t, errors.Join(inner.Close(), outer.Close()))
}

// The nested version is settled while the writer of the outer checkpoint is at work.
func TestFirstStageIsRecordedWhileItsEndIsWritten(t *testing.T) {
	for range 5 {
		n, job := newTestNodes(t, 0), staged{mode: "copy", who: 1, versions: 1, stage: true}
		job.goes(t, n, came{0, 0, 1})
		opts := append(n.options(0, "", inMode("copy"), freshStart), WithLogger(slog.New(slog.DiscardHandler)))
		outer := stageOf(t, nil, "outer", opts)
		inner := stageOf(t, outer, "inner", opts)
		require.NoError(t, errors.Join(outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil)))
		require.NoError(t, errors.Join(inner.Write(t.Context()), outer.Write(t.Context()), inner.Wait(t.Context())))
		records, err := outer.home.Records(t.Context())
		require.NoError(t, err)
		require.NotNil(t, storage.BegunAnew(records))
		require.NoError(t, errors.Join(inner.Close(), outer.Close()))
		records, err = outer.home.Records(t.Context())
		require.NoError(t, err)
		require.Nil(t, storage.BegunAnew(records))
	}
}

// TestFirstStageOfABranch: the newest version of the outermost checkpoint was away, and a run
// that went on behind an older one was killed when only the inner one had versions of it.
func TestFirstStageOfABranch(t *testing.T) {
	ofData(t)
	for _, of := range [][]int{{0}, {0, 1}} {
		for _, levels := range []string{"", "local:1,pfs:1"} {
			t.Run(fmt.Sprintf("%d ranks, levels %q", len(of), levels), func(t *testing.T) {
				n, job := newTestNodes(t, of...), staged{levels: levels, mode: "off", who: 1, versions: 2, stage: true}
				job.goes(t, n, came{0, 0, 1})
				job.goes(t, n, came{1, 0, 1})
				away := t.TempDir()
				move := func(from, to string) {
					for _, v := range glob(t, filepath.Join(from, "*", "outer*", "v-000002-*")) {
						rel, err := filepath.Rel(from, v)
						require.NoError(t, err)
						require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o700))
						require.NoError(t, os.Rename(v, filepath.Join(to, rel)))
					}
				}
				move(n.dir, away)
				job.stage = false
				at, log, err := job.killed(t, n)
				require.NoError(t, err)
				require.Equal(t, 1, at.outer)
				require.Contains(t, log, "the newest version is not used")
				move(away, n.dir)
				goesOn := came{1, at.inner + 2, 1}

				job.opts = []Option{WithStrict()}
				_, _, err = job.killed(t, n)
				require.ErrorIs(t, err, ErrStrict)
				require.ErrorContains(t, err, "branch: v-000002-")
				job.opts, job.versions = nil, 0
				require.Contains(t, job.goes(t, n, goesOn), "versions of another branch are stored")
				job.versions = 1 // a run that has stored nothing changes nothing
				require.Contains(t, job.goes(t, n, goesOn), "versions of another branch are stored")
				job.stage = true
				job.goes(t, n, came{1, goesOn.inner + 1, 1})
				job.goes(t, n, came{2, 0, 1})
				job.goes(t, n, came{3, 0, 1})
			})
		}
	}
}

// A run that was killed in the stage behind the newest version, or when it had ended that, is
// gone on with as any other.
func TestFirstStageIsOfNoBranch(t *testing.T) {
	n, job := newTestNodes(t, 0), staged{mode: "off", who: 1, versions: 2, stage: true, opts: []Option{WithStrict()}}
	job.goes(t, n, came{0, 0, 1})
	job.stage = false
	job.goes(t, n, came{1, 0, 1})
	job.goes(t, n, came{1, 2, 1})
	records := glob(t, filepath.Join(n.dir, "pfs", "outer", filestore.RecordPrefix+"*"))
	before, err := os.ReadFile(records[len(records)-1])
	require.NoError(t, err)
	require.Contains(t, string(before), "nested_stored")
	job.stage = true
	job.goes(t, n, came{1, 4, 1})
	// What the last run has written of the outer one is newer than what its record says.
	records = glob(t, filepath.Join(n.dir, "pfs", "outer", filestore.RecordPrefix+"*"))
	last := records[len(records)-1]
	data, err := os.ReadFile(last)
	require.NoError(t, err)
	var r storage.Record
	require.NoError(t, json.Unmarshal(data, &r))
	r.LastWritten, r.NestedStored, r.VersionsWritten, r.LastVersion = 0, true, 0, r.LastVersion-1
	data, err = json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(last, data, 0o600))
	job.goes(t, n, came{2, 0, 1})
}
