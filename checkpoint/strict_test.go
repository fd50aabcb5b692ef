package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// snapshot has the contents of all files below a directory.
func snapshot(t *testing.T, dir string) map[string]string {
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == nodelocal.JobName { // who is here now
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	}))
	return files
}

// refused starts a strict job: all ranks return ErrStrict, with their values and all
// files as they were.
func (n *testNodes) refused(t *testing.T, levels, policy string, opts ...Option) error {
	t.Helper()
	before := snapshot(t, n.dir)
	errs := make([]error, len(n.of))
	require.NoError(t, afttest.Run(t.Context(), len(n.of), func(ctx context.Context, c *comm.Comm) error {
		g, err := newGrid(c, n.options(c.Rank(), levels, append(opts, WithStrict(Strictness(policy)))...)...)
		if err != nil {
			return err
		}
		cells, shared := slices.Clone(g.cells), slices.Clone(g.shared)
		errs[c.Rank()] = g.cp.RestartIfNeeded(ctx, &g.iter)
		if g.iter != 0 || !slices.Equal(cells, g.cells) || !slices.Equal(shared, g.shared) {
			return fmt.Errorf("rank %d: values have changed", c.Rank())
		}
		if errs[c.Rank()] != nil && !errors.Is(g.cp.Write(ctx), ErrState) {
			return errors.New("something is written after a refused start")
		}
		return g.cp.Close()
	}))
	for rank, err := range errs {
		require.ErrorIs(t, err, ErrStrict, "rank %d", rank)
	}
	after := snapshot(t, n.dir)
	for path, data := range before {
		require.Equal(t, data, after[path], path)
	}
	for path := range after {
		require.Contains(t, before, path)
	}
	return errs[0]
}

func TestStrictPolicy(t *testing.T) {
	for _, wrong := range []string{"2", "yes", "allow-all", "absent", "allow-absent,", "allow-absent;allow-branch"} {
		_, err := New("test", nil, WithStrict(Strictness(wrong)))
		require.ErrorContains(t, err, "CRAFT_STRICT", wrong)
	}
	for value, on := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true} {
		s, err := config{Strict: Strictness(value)}.strictness()
		require.NoError(t, err)
		require.Equal(t, strictness{on: on}, s)
		o, err := newOptions([]Option{WithStrict(Strictness(value))})
		require.NoError(t, err)
		s, err = o.strictness()
		require.NoError(t, err)
		require.Equal(t, strictness{on: on}, s, "the option with %q", value)
	}
	t.Setenv("CRAFT_STRICT", "allow-absent, allow-damaged")
	cp, err := New("test", nil)
	require.NoError(t, err)
	s, err := cp.opt.strictness()
	require.NoError(t, err)
	require.Equal(t, strictness{on: true, allow: []Strictness{AllowAbsent, AllowDamaged}}, s)
	require.NoError(t, cp.Close())
}

// Where nothing is wrong a strict start is as any other.
func TestStrictStart(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none, WithStrict())
		require.Contains(t, n.job(t, levels, 5, none, WithStrict()), "version=3 ")
		n.job(t, levels, 1, none, WithStrict(), freshStart)
		require.Contains(t, n.job(t, levels, 2, none, WithStrict()), "version=6 ")
	})
}

func TestStrictDamaged(t *testing.T) {
	places := map[string]int{"header": 40, "chunk": 5000}
	for _, name := range sample(t, slices.Sorted(maps.Keys(places)), 1) {
		worlds(t, func(t *testing.T, n *testNodes, levels string) {
			n.job(t, levels, 3, none)
			for _, file := range n.allFiles(t, 3) {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				data[places[name]] ^= 1
				require.NoError(t, os.WriteFile(file, data, 0o600))
			}
			for _, policy := range []string{"1", "allow-absent,allow-branch"} {
				err := n.refused(t, levels, policy)
				require.ErrorContains(t, err, "damaged: ", name)
				require.ErrorContains(t, err, "allow-damaged")
			}
			require.Contains(t, n.job(t, levels, 4, none, WithStrict(AllowDamaged)), "version=2 iteration=1")
		})
	}
}

// What was accepted as damaged stays accepted by that name, however many runs ago, and does
// not count among the versions that are kept.
func TestStrictDamagedBefore(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		const accepted = "allow-damaged"
		n.job(t, levels, 5, none, WithKeep(3))
		damageHeader(t, n.allFiles(t, 5), false)
		n.job(t, levels, 5, none, WithKeep(3), WithStrict(accepted))
		n.job(t, levels, 5, none, WithKeep(3), WithStrict(accepted)) // by the record of the run before the last
		err := n.refused(t, levels, "allow-branch")
		require.ErrorContains(t, err, "damaged: ")
		require.ErrorContains(t, err, "v-000005-")
		require.NotContains(t, err.Error(), "branch: ")
		require.Contains(t, n.job(t, levels, 6, none, WithKeep(3), WithStrict(accepted)), "v-000005-")
		for _, version := range []int{4, 6, 7} {
			require.NotEmpty(t, n.allFiles(t, version), "three good ones stay")
		}
		require.NotContains(t, n.job(t, levels, 9, none, WithKeep(3), WithStrict(accepted)), "other branch")
		require.Empty(t, n.allFiles(t, 5))
		n.job(t, levels, 9, none, WithStrict())
	})
}

// A version that was set aside and has been mended counts again.
func TestDamagedBeforeAndMended(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 5, none)
		files := n.allFiles(t, 5)
		before := snapshot(t, n.dir)
		damageHeader(t, files, false)
		require.Contains(t, n.job(t, levels, 0, none), "version=4 ")
		for _, file := range files {
			require.NoError(t, os.WriteFile(file, []byte(before[file]), 0o600))
		}
		require.Contains(t, n.job(t, levels, 6, none, WithStrict()), "version=5 ")
		for _, r := range n.records(t) {
			if r.LastWritten == 6 {
				require.Empty(t, r.Damaged)
			}
		}
		n.job(t, levels, 7, none, WithStrict())
	})
}

func (n *testNodes) records(t *testing.T) []storage.Record {
	records, err := filestore.Records(vfs.OS(), filepath.Join(n.dir, "pfs", "grid"))
	require.NoError(t, err)
	return records
}

// More ranks than have written the version share the reading of it.
func TestStrictStartReadsOnceMore(t *testing.T) {
	dir := t.TempDir()
	x := ones(200_000)
	v := vars{"x": cptypes.Replicated(&x)}
	written := v.checkpoint(t, nil, dir)
	require.NoError(t, errors.Join(written.Write(t.Context()), written.Close()))
	restart := func(policy string) int64 {
		var read atomic.Int64
		disk := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && strings.Contains(op.Path, "v-000001") {
				read.Add(op.Size)
			}
			return nil
		})
		require.NoError(t, afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
			y := []float64{}
			cp := vars{"x": cptypes.Replicated(&y)}.checkpoint(t, c, dir, withFS(disk), WithStrict(Strictness(policy)))
			return errors.Join(cp.RestartIfNeeded(ctx, nil), cp.Close())
		}))
		return read.Load()
	}
	const size = 200_000 * 8
	require.InDelta(t, size, restart("1")-restart("0"), size/2)
}

func TestStrictAbsent(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.removeVersion(t, 3)
		left := glob(t, filepath.Join(n.dir, "node*", "grid-*", "v-000002-*")) // of a killed process
		for i := range left {
			left[i] = filepath.Join(left[i], ".rank-00000-of-00001.craft.X.tmp")
			require.NoError(t, os.WriteFile(left[i], []byte("half"), 0o600))
		}
		err := n.refused(t, levels, "1")
		require.ErrorContains(t, err, "absent: ")
		require.ErrorContains(t, err, "v-000003-")
		require.ErrorContains(t, err, "CRAFT_STRICT=allow-absent")
		require.Contains(t, n.job(t, levels, 4, none, WithStrict(AllowAbsent)), "version=2 iteration=1")
		for _, file := range left {
			require.NoFileExists(t, file)
		}
		n.job(t, levels, 5, none, WithStrict())
	})
}

// Each reason is named, and all that accept them.
func TestStrictReasons(t *testing.T) {
	n := newTestNodes(t, 0, 1)
	n.job(t, "", 5, none, WithKeep(9))
	disk := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.CopyFS(disk, os.DirFS(n.dir)))
	n.removeVersion(t, 5)
	n.removeVersion(t, 4)
	n.job(t, "", 5, none, WithKeep(9))
	for _, dir := range glob(t, filepath.Join(disk, "pfs", "grid", "v-000004-*")) {
		require.NoError(t, os.CopyFS(filepath.Join(n.dir, "pfs", "grid", filepath.Base(dir)), os.DirFS(dir)))
	}
	n.removeVersion(t, 7)
	damageHeader(t, n.allFiles(t, 6), false)
	err := n.refused(t, "", "allow-unclear")
	for _, text := range []string{"absent: ", "v-000007-", "branch: ", "v-000004-", "damaged: ", "v-000006-", "CRAFT_STRICT=allow-unclear,allow-absent,allow-branch,allow-damaged"} {
		require.ErrorContains(t, err, text)
	}
}

// What was interrupted while it was written is no reason.
func TestStrictInterrupted(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.killedWriting(t, levels, 3)
		for _, dir := range glob(t, filepath.Join(n.dir, "*", "grid*", "v-000003-*")) {
			files := glob(t, filepath.Join(dir, "*.craft"))
			last := files[len(files)-1]
			require.NoError(t, os.Rename(last, filepath.Join(dir, ".x.tmp")))
		}
		n.job(t, levels, 5, none, WithStrict())
	})
}

// What was interrupted before levels were switched on was on no node: nodes have lost nothing
// of it.
func TestStrictInterruptedWithoutLevels(t *testing.T) {
	for _, parts := range []int{0, 1, 3} {
		n := newTestNodes(t, 0, 1, 2, 3)
		n.killedWriting(t, "", 3)
		files := n.flushed(t, 3, "rank-")
		require.Len(t, files, 4)
		for _, file := range files[parts:] {
			require.NoError(t, os.Remove(file))
		}
		require.Contains(t, n.job(t, "local:1", 5, none, WithStrict()), "iteration=1 ", "%d parts", parts)
	}
}

// killedWriting is a job that is killed while it writes its second version: nothing tells of
// it but that its number is reserved.
func (n *testNodes) killedWriting(t *testing.T, levels string, until int) {
	n.job(t, levels, until-2, none)
	latest := filepath.Join(n.dir, "pfs", "grid", filestore.LatestName)
	before, err := os.ReadFile(latest)
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	var newest *manifest.Version
	if levels != "" {
		newest = n.manifest(t).Newest
	}
	n.job(t, levels, until, none, func(o *options) { o.Record = false })
	if before != nil {
		require.NoError(t, os.WriteFile(latest, before, 0o600))
	}
	if levels != "" {
		note := n.manifest(t)
		note.Newest = newest
		n.write(t, note)
	}
}

// Versions that nodes may have, and the unread note about them.
func TestStrictUnseen(t *testing.T) {
	n := newTestNodes(t, eightOnFour...)
	n.job(t, "partner", 3, flushedFirst)
	n.killed(t, "partner", 6, none)
	require.ErrorContains(t, n.refused(t, "", "1"), "absent: ")
	require.ErrorContains(t, n.refused(t, "", "allow-absent"), "unseen: ")
	n.of = away
	for _, i := range []int{4, 5, 6, 7} { // places on new nodes are made
		require.NoError(t, os.MkdirAll(n.node(i), 0o700))
	}
	_, err := n.try(t, "partner", 1, none, WithStrict())
	require.ErrorIs(t, err, ErrStrict)
	n.of = eightOnFour
	require.Contains(t, n.job(t, "partner", 7, none, WithStrict()), "iteration=5 ")

	n = newTestNodes(t, 0, 1)
	n.job(t, "local,pfs", 3, none)
	require.NoError(t, os.WriteFile(n.manifestPath(), []byte("{"), 0o600))
	require.ErrorContains(t, n.refused(t, "", "1"), "unseen: ")
}

// A node is lost with parts of a version that no level protects.
func TestStrictLostOnNodes(t *testing.T) {
	n := newTestNodes(t, 0, 1, 2)
	n.job(t, "local,partner:2", 3, none)
	n.lose(t, 1)
	require.NoError(t, os.MkdirAll(n.node(1), 0o700))
	_, err := n.try(t, "local,partner:2", 3, none, WithStrict())
	require.ErrorIs(t, err, ErrStrict)
	require.ErrorContains(t, err, "absent: ")
	require.Contains(t, n.job(t, "local,partner:2", 3, none, WithStrict(AllowAbsent)), "version=2 ")
}

// The last run began anew and came to nothing: the computation before is not resumed in
// silence.
func TestLastRunBeganAnew(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		n.job(t, levels, 3, none)
		n.job(t, levels, 0, none, freshStart)
		require.ErrorContains(t, n.refused(t, levels, "1"), "lineage: ")
		require.Contains(t, n.job(t, levels, 3, none), "began anew")
		require.NotContains(t, n.job(t, levels, 3, none, WithStrict()), "began anew")
	})
}

// A run of which no record is left has stored the versions: the record of one before it, which
// came to nothing, says nothing of these.
func TestLastRecordIsOfAnEarlierRun(t *testing.T) {
	n := newTestNodes(t, 0)
	n.job(t, "", 0, none)
	t.Setenv("CRAFT_RECORD", "0")
	n.job(t, "", 3, none)
	require.NotContains(t, n.job(t, "", 3, none, WithStrict()), "began anew")
}

// repaired runs body in a job that has been repaired once.
func repaired(ctx context.Context, ranks int, body func(ctx context.Context, c *comm.Comm) error) error {
	return new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
		if _, err := r.Session().Zone().Repair(ctx, comm.Policy{Recovery: comm.NonShrinking, Spawn: comm.Reuse}); err != nil {
			return err
		}
		return body(ctx, r.Comm())
	})
}

// A recovery inside a job warns, as without strictness.
func TestStrictIsAboutTheStart(t *testing.T) {
	n := newTestNodes(t, 0)
	n.job(t, "", 3, none)
	damageHeader(t, n.allFiles(t, 3), false)
	n.refused(t, "", "1")
	require.NoError(t, repaired(t.Context(), 1, func(ctx context.Context, c *comm.Comm) error {
		g, err := newGrid(c, n.options(0, "", WithStrict())...)
		if err != nil {
			return err
		}
		err = g.cp.RestartIfNeeded(ctx, &g.iter)
		require.Equal(t, 2, g.iter)
		return errors.Join(err, g.cp.Close())
	}))
}
