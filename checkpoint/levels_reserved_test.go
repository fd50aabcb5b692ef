package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

func (n *testNodes) manifestPath() string {
	return filepath.Join(n.dir, "pfs", "grid", manifest.Name)
}

// killed is a job that ends without a last word about what it has written.
func (n *testNodes) killed(t *testing.T, levels string, until int, final func(context.Context, *grid) error, opts ...Option) {
	t.Helper()
	var noted map[string][]byte
	n.job(t, levels, until, func(ctx context.Context, g *grid) error {
		err := final(ctx, g)
		if g.c.Rank() == 0 && err == nil {
			noted, err = n.metadata()
		}
		return err
	}, opts...)
	for path, data := range noted {
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}

// notes are the files beside the versions, without LATEST.json.
func (n *testNodes) metadata() (map[string][]byte, error) {
	noted := make(map[string][]byte)
	for _, pattern := range []string{manifest.Name, filestore.RecordPrefix + "*"} {
		files, err := filepath.Glob(filepath.Join(n.dir, "pfs", "grid", pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if noted[file], err = os.ReadFile(file); err != nil {
				return nil, err
			}
		}
	}
	return noted, nil
}

// away are nodes that have nothing of the others.
var away = []int{4, 4, 5, 5, 6, 6, 7, 7}

// Nodes that were absent while a new computation began, or did not count, do not bring
// the old one back, although nobody could say how far it had come.
func TestLevelsOldLineageComesBack(t *testing.T) {
	fresh := WithReadOnRestart(false)
	t.Run("without levels", func(t *testing.T) {
		n := newTestNodes(t, eightOnFour...)
		n.killed(t, "partner", 9, none)
		n.job(t, "", 3, none, fresh)
		require.Contains(t, n.job(t, "partner", 5, none), "iteration=2 ")
	})
	t.Run("on other nodes", func(t *testing.T) {
		n := newTestNodes(t, eightOnFour...)
		n.killed(t, "partner", 9, none)
		n.of = away
		_, err := n.try(t, "partner", 1, none)
		require.ErrorIs(t, err, ErrNoUsableVersion)
		n.killed(t, "partner", 3, none, fresh)
		n.of = eightOnFour
		_, err = n.try(t, "partner", 5, none)
		require.ErrorIs(t, err, ErrNoUsableVersion, "the old one is used")
		require.ErrorContains(t, err, n.node(5), "where the newest is is not said")
		n.of = []int{0, 1, 4, 5, 6, 7, 2, 3}
		require.Contains(t, n.job(t, "partner", 5, none), "iteration=2 ")
	})
}

// The same for a computation that goes on from an older version: what the nodes have
// that were absent is the older branch when they come back.
func TestLevelsOldBranchComesBack(t *testing.T) {
	ofData(t)
	for _, levels := range []string{"", "partner"} { // of the run without the nodes
		for _, again := range []bool{false, true} { // and it dies before it has written anything
			t.Run(fmt.Sprintf("%q %t", levels, again), func(t *testing.T) {
				n := newTestNodes(t, eightOnFour...)
				n.job(t, "partner", 3, flushedFirst)
				n.killed(t, "partner", 12, none)
				n.of = away
				if again && levels != "" {
					n.killed(t, levels, 0, none)
				}
				require.Contains(t, n.job(t, levels, 5, none), "iteration=2 ")
				n.of = []int{0, 1, 2, 3, 4, 5, 6, 7}
				require.Contains(t, n.job(t, "partner", 6, none), "iteration=4 ")
			})
		}
	}
}

// flushedLongAgo writes 12 versions of which the third is the newest that is flushed.
func flushedLongAgo(t *testing.T, levels string) *testNodes {
	n := newTestNodes(t, eightOnFour...)
	n.killed(t, levels, 3, func(ctx context.Context, g *grid) error {
		err := g.cp.Flush(ctx)
		for ; g.iter < 12 && err == nil; g.iter++ {
			g.step()
			err = g.cp.UpdateAndWrite(ctx, g.iter, 1)
		}
		return err
	})
	return n
}

// A node of the old branch has lost what it had, and has got parts of an older version
// of it by healing. That does not count as having seen how far it came.
func TestLevelsOldBranchHealed(t *testing.T) {
	ofData(t)
	const levels = "partner,pfs:1000"
	end := map[string]func(n *testNodes, until int){
		"killed": func(n *testNodes, until int) { n.killed(t, levels, until, healed) },
		"closed": func(n *testNodes, until int) { n.job(t, levels, until, healed) },
	}
	for how, end := range end {
		t.Run(how, func(t *testing.T) {
			n := flushedLongAgo(t, levels)
			n.lose(t, 0, 1)
			n.of = []int{0, 0, 1, 1, 4, 4, 5, 5} // 2 and 3 have all of version 12
			end(n, 0)
			require.Len(t, n.files(t, 3, "rank-"), 8)
			require.Contains(t, n.job(t, levels, 5, none), "iteration=2 ")
			n.of = []int{0, 1, 2, 3, 4, 5, 2, 3}
			require.Contains(t, n.job(t, levels, 6, none), "iteration=4 ")
		})
		t.Run(how+", one node seen", func(t *testing.T) {
			n := flushedLongAgo(t, levels)
			n.lose(t, 0)
			n.of = []int{0, 0, 1, 1, 4, 4, 5, 5} // 1 tells of version 12
			end(n, 0)
			n.of = []int{0, 0, 6, 6, 4, 4, 5, 5}
			require.Contains(t, n.job(t, levels, 5, none), "iteration=2 ")
			n.of = []int{0, 1, 2, 3, 4, 5, 2, 3}
			require.Contains(t, n.job(t, levels, 6, none), "iteration=4 ")
		})
	}
}

// A job on the nodes of the one before has seen all that there is, and so has one
// after an orderly end: their numbers have no gaps.
func TestLevelsNumbersWithoutGaps(t *testing.T) {
	n := newTestNodes(t, eightOnFour...)
	n.killed(t, "partner", 3, none)
	n.killed(t, "partner", 5, none)
	n.lose(t, 2)
	require.Contains(t, n.job(t, "partner", 7, flushedFirst), "version=5 iteration=4")
	n.of = away
	require.Contains(t, n.job(t, "partner", 8, none), "version=7 iteration=6")
	require.Contains(t, n.job(t, "partner", 9, none), "version=8 iteration=7")
}

// Levels that the numbers which are left out were due for are made up for.
func TestLevelsGapIsMadeUpFor(t *testing.T) {
	n := newTestNodes(t, eightOnFour...)
	n.job(t, "local,partner:60,pfs:1000", 3, flushedFirst)
	n.killed(t, "local,partner:60,pfs:1000", 5, none)
	n.of = away
	n.job(t, "local,partner:60,pfs:1000", 5, func(_ context.Context, g *grid) error {
		if stored := g.cp.Stored(); g.c.Rank() == 0 {
			first, second := stored[len(stored)-2], stored[len(stored)-1]
			if first.Level != storage.LevelsOf(storage.Partner) || first.Flushed || first.Pending || second.Level != storage.LevelsOf(storage.Local) {
				return fmt.Errorf("%+v", stored)
			}
		}
		return nil
	})
}

// reserving runs one rank that writes so many versions, with a file system at home.
func reserving(t *testing.T, n *testNodes, versions int, home vfs.FS, opts ...Option) string {
	t.Helper()
	var log syncBuffer
	require.NoError(t, afttest.Run(t.Context(), 1, func(ctx context.Context, c *comm.Comm) error {
		x := 1.0
		all := append(n.options(0, "local", WithLogger(slog.New(slog.NewTextHandler(&log, nil))), func(o *options) { o.fs = home }), opts...)
		cp, err := New("grid", c, all...)
		if err != nil {
			return err
		}
		if err := cp.Add("x", &x); err != nil {
			return err
		}
		if err := cp.Commit(); err != nil {
			return err
		}
		if err := cp.RestartIfNeeded(ctx, nil); err != nil {
			return err
		}
		for range versions {
			if err := cp.Write(ctx); err != nil {
				return err
			}
		}
		return cp.Close()
	}))
	return log.String()
}

// seldom is how often something is done that is done once in a while.
func seldom(began time.Time) int { return int(time.Since(began) / manifestEvery) }

func (n *testNodes) manifest(t *testing.T) manifest.Manifest {
	data, err := os.ReadFile(n.manifestPath())
	require.NoError(t, err)
	note, err := manifest.Parse(data)
	require.NoError(t, err)
	return note
}

func (n *testNodes) write(t *testing.T, note manifest.Manifest) {
	data, err := json.Marshal(note)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(n.manifestPath(), data, 0o600))
}

// A number is noted before it is used, with few notes, and an orderly end gives back
// what was not used.
func TestNumbersAreReserved(t *testing.T) {
	ofData(t)
	for _, mode := range modes {
		n := newTestNodes(t, 0)
		notes, began := 0, time.Now()
		home := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpRename && strings.Contains(op.Path+op.NewPath, manifest.Name) {
				notes++
			}
			return nil
		})
		const versions = 250
		used := 0
		node := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpRename && strings.HasSuffix(op.NewPath, "rank-00000-of-00001.craft") {
				id, ok := storage.ParseID(filepath.Base(filepath.Dir(op.NewPath)))
				reserved, _ := storage.ParseID(n.manifest(t).Reserved)
				if !ok || reserved.Attempt != id.Attempt || reserved.Version < id.Version {
					return fmt.Errorf("version %v is used and %v is reserved", id, reserved)
				}
				used++
			}
			return nil
		})
		reserving(t, n, versions, home, WithAsync(AsyncMode(mode)), func(o *options) { o.nodeFS = node })
		require.Equal(t, versions, used)
		// The identity, the first number and the first version, 100, 200, twice at
		// the end.
		require.LessOrEqual(t, notes, 7+seldom(began))
		require.Contains(t, n.manifest(t).Reserved, fmt.Sprintf("v-%06d-", versions))
	}
}

// What cannot be noted does not keep versions from being written to the nodes.
func TestNumbersCannotBeReserved(t *testing.T) {
	n := newTestNodes(t, 0)
	var full atomic.Bool
	home := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if full.Load() && strings.Contains(op.Path, manifest.Name) && op.Kind == vfs.OpCreate {
			return syscall.ENOSPC
		}
		return nil
	})
	reserving(t, n, 1, home)
	full.Store(true)
	began := time.Now()
	log := reserving(t, n, 50, home)
	require.Contains(t, log, "if this job dies")
	require.LessOrEqual(t, strings.Count(log, "if this job dies"), 1+seldom(began), log)
	full.Store(false)
	require.Contains(t, reserving(t, n, 0, home), "version=51")
}

// A run that cannot see what a killed one has written says that there may be more.
func TestLevelsPerhapsNewer(t *testing.T) {
	const perhaps = "there may be newer versions on the nodes"
	n := newTestNodes(t, eightOnFour...)
	n.job(t, "partner", 3, flushedFirst)
	n.killed(t, "partner", 3, none)
	require.NotContains(t, n.job(t, "", 0, none), perhaps, "it has written nothing")
	n.job(t, "partner", 4, flushedFirst)
	before := n.manifest(t)
	n.killed(t, "partner", 6, none)
	note := n.manifest(t)
	note.Newest = before.Newest // it was killed before it noted its first version
	n.write(t, note)
	log := n.job(t, "", 0, none)
	require.Equal(t, 1, strings.Count(log, perhaps), log)
	require.Contains(t, log, "version=4 iteration=3")
	require.Contains(t, log, n.node(2))
	require.Contains(t, log, "up to 104")
	require.Contains(t, log, "CRAFT_LEVELS=partner:1")
	n.of = away
	log = n.job(t, "partner", 0, none)
	require.Equal(t, 1, strings.Count(log, perhaps), log)
	require.Contains(t, log, n.node(2))
	// On the nodes there is no doubt, nor after an orderly end.
	n.of = eightOnFour
	log = n.job(t, "partner", 6, flushedFirst)
	require.NotContains(t, log, perhaps)
	require.Contains(t, log, "iteration=5")
	n.job(t, "partner", 7, flushedFirst)
	log = n.job(t, "", 0, none)
	require.NotContains(t, log, perhaps)
	require.Contains(t, log, "version=7 iteration=6", "a run that has written nothing has left a gap")
}

// A number that nobody understands is not taken for none.
func TestReservedNotUnderstood(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.job(t, "local", 2, none)
	note := n.manifest(t)
	note.Reserved = "12"
	n.write(t, note)
	_, err := n.try(t, "local", 3, none)
	require.ErrorContains(t, err, `reserved "12"`)
}

// A damaged reserve must not make numbers begin again at zero, behind all that is stored.
func TestLevelsReserveIsNonsense(t *testing.T) {
	for _, number := range []string{"18446744073709551615", "18446744073709551614"} {
		n := newTestNodes(t, eightOnFour...)
		n.job(t, "partner", 3, none)
		data, err := os.ReadFile(n.manifestPath())
		require.NoError(t, err)
		var m map[string]any
		require.NoError(t, json.Unmarshal(data, &m))
		m["reserved"] = "v-" + number + "-0123456789abcdef"
		nonsense, err := json.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(n.manifestPath(), nonsense, 0o600))
		_, err = n.try(t, "partner", 4, none)
		require.ErrorContains(t, err, manifest.Name, number)
		require.NoError(t, os.WriteFile(n.manifestPath(), data, 0o600))
		require.Contains(t, n.job(t, "partner", 5, none), "iteration=2 ")
	}
}
