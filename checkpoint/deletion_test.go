package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// versions lists those that are stored, complete or not.
func versions(t *testing.T, disk vfs.FS, dir string) (out []string) {
	entries, err := disk.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "v-") {
			out = append(out, e.Name()[:8])
		}
	}
	return out
}

// The file of an old version becomes that of the next one, or each rank deletes its own
// where that cannot be. There are never more than Keep versions between calls, and nothing
// else is left after Close.
func TestOldVersionsAreWrittenOver(t *testing.T) {
	for _, can := range []bool{true, false} {
		mem := vfs.NewMem()
		var steps []string // of a write
		disk := vfs.WithErrors(mem, func(op vfs.Op) error {
			switch {
			case op.Kind == vfs.OpOverwrite && !can:
				return errors.ErrUnsupported
			case op.Kind == vfs.OpOverwrite:
				steps = append(steps, "over")
			case op.Kind == vfs.OpRemove && strings.Contains(op.Path, ".craft"):
				steps = append(steps, "delete")
			case op.Kind == vfs.OpCreate && strings.HasSuffix(op.Path, ".craft.tmp"):
				steps = append(steps, "write")
			}
			return nil
		})
		x := make([]float64, 10_000)
		cp := withValue(t, "x", &x, WithPath("/cp"), withFS(disk), WithKeep(2), WithCompression(CompressOff))
		for i := range 7 {
			steps = nil
			require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
			switch {
			case i < 3:
				require.Equal(t, []string{"write"}, steps)
			case can:
				require.Equal(t, []string{"over"}, steps)
			default:
				require.Equal(t, []string{"delete", "write"}, steps)
			}
			steps, cp.up.lastRecord = nil, time.Time{} // calls that are not due delete nothing
			require.NoError(t, cp.UpdateAndWrite(t.Context(), 1, 2))
			require.Empty(t, steps)
			require.Len(t, versions(t, mem, "/cp/x"), min(i+1, 2))
			require.Less(t, mem.Used(), int64(3*90_000), "one version more than is kept")
		}
		require.NoError(t, cp.Close())
		require.Equal(t, []string{"v-000006", "v-000007"}, versions(t, mem, "/cp/x"))
		_, err := mem.Stat("/cp/x/" + filestore.SpareName)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// Versions whose directories cannot get another name, on a lower layer of an overlayfs, are
// deleted as others are, without a word.
func TestOldVersionsOnALowerLayer(t *testing.T) {
	worlds(t, func(t *testing.T, n *testNodes, levels string) {
		overlay := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpRename && strings.HasPrefix(filepath.Base(op.Path), "v-") {
				return syscall.EXDEV
			}
			return nil
		})
		onOverlay := func(o *options) { o.fs, o.nodeFS = overlay, overlay }
		n.job(t, levels, 3, none)
		require.NotContains(t, n.job(t, levels, 7, none, onOverlay), "not deleted")
		require.NotContains(t, n.job(t, levels, 9, flushedFirst, onOverlay), "not deleted")
		for _, version := range []int{1, 2, 3} {
			require.Empty(t, n.allFiles(t, version))
		}
		require.NotEmpty(t, n.allFiles(t, 8))
	})
}

// What a version makes useless of a nested checkpoint is kept to be written over, unless
// the one around it finds no room.
func TestVersionsOfAStageMakeRoom(t *testing.T) {
	mem := vfs.NewMem()
	deleted, full := 0, false
	disk := vfs.WithErrors(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && strings.HasPrefix(op.Path, "/cp/inner/") && strings.HasSuffix(op.Path, ".craft") {
			deleted++
			full = false
		}
		if op.Kind == vfs.OpWrite && strings.HasPrefix(op.Path, "/cp/outer/v-") && full {
			return syscall.ENOSPC
		}
		return nil
	})
	x, y := 1, 2
	with := func(name string, value *int) *Checkpoint {
		return withValue(t, name, value, WithPath("/cp"), withFS(disk), WithKeep(2))
	}
	outer, inner := with("outer", &x), with("inner", &y)
	require.NoError(t, outer.SubCP(inner))
	stage := func() {
		require.NoError(t, errors.Join(inner.Write(t.Context()), inner.Write(t.Context()), outer.Write(t.Context())))
	}
	require.NoError(t, outer.Write(t.Context()))
	stage()
	stage()
	require.Zero(t, deleted)
	full = true
	require.NoError(t, outer.Write(t.Context()))
	require.False(t, full)
	require.NoError(t, errors.Join(inner.Close(), outer.Close()))
}

// Whoever has lost the directory to another job deletes nothing in it, in any mode,
// whatever is owed.
func TestNothingIsDeletedWithoutTheLock(t *testing.T) {
	for _, mode := range modes {
		dir := t.TempDir()
		x := 1
		cp := withValue(t, "x", &x, WithPath(dir), inMode(mode), WithKeep(1))
		for i := range 3 {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
			require.NoError(t, cp.Wait(t.Context()))
			require.NoError(t, cp.up.maintenanceDone(t.Context()))
		}
		before, err := filepath.Glob(filepath.Join(dir, "x", "v-*"))
		require.NoError(t, err)
		cp.up.maintenance.remove.add(cp.line.stored.All()[0].ID) // in every mode
		require.NoError(t, vfs.OS().Remove(filepath.Join(dir, "x", filestore.LockName)))
		require.ErrorIs(t, writeWhole(t.Context(), cp), storage.ErrLockLost)
		_ = cp.Close()
		after, err := filepath.Glob(filepath.Join(dir, "x", "v-*"))
		require.NoError(t, err)
		require.Equal(t, before, after, mode)
	}
}

func writeWhole(ctx context.Context, cp *Checkpoint) error {
	if err := cp.Write(ctx); err != nil {
		return err
	}
	return cp.Wait(ctx)
}

// A disk with room for Keep + 1 versions is enough, also when a job was killed that
// had kept the files of the last one, and when another rank meets the full disk before
// room is made.
func TestFullDiskMakesRoom(t *testing.T) {
	mem := vfs.NewMem()
	v := make([]float64, 50_000)
	with := func(disk vfs.FS) *Checkpoint {
		return withValue(t, "x", &v, WithPath("/cp"), withFS(disk), WithCompression(CompressOff), WithKeep(2))
	}
	cp := with(mem)
	for i := range 5 {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
	}
	killed := mem.Crash(1, testseed.Rand(t))
	require.Len(t, versions(t, killed, "/cp/x"), 2)
	require.NotZero(t, filestore.SpareBytes(killed, "/cp/x"))
	killed.SetCapacity(killed.Used() + 10_000)
	iter := 0
	cp = with(killed)
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 5, iter)
	for range 2 { // the version that was restored stays: then there are three
		require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
		iter++
	}
	require.Zero(t, cp.Stats().VersionsFailed)
	require.NoError(t, cp.Close())

	disk := vfs.NewMem()
	var full, again atomic.Bool
	var first string // the version that finds no room, whatever this rank gives up for it
	late := vfs.WithErrors(disk, func(op vfs.Op) error {
		if op.Kind != vfs.OpWrite || !strings.HasSuffix(op.Path, ".craft.tmp") || !full.Load() {
			return nil
		}
		if first == "" {
			first = filepath.Dir(op.Path)
		}
		if filepath.Dir(op.Path) == first {
			return syscall.ENOSPC
		}
		again.Store(true)
		return nil
	})
	err := afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		fsys := vfs.FS(disk)
		if c.Rank() == 2 {
			fsys = late
		}
		p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys))
		defer p.cp.Close()
		if err := p.run(ctx, 3, 1); err != nil {
			return err
		}
		if c.Rank() == 2 {
			full.Store(true)
		}
		return p.run(ctx, 5, 1)
	})
	require.NoError(t, err)
	require.True(t, again.Load())
	require.Equal(t, 5, restartAndFinish(t, disk, 3, 6, "after the disk was full"))
}

// A full disk is not all that has gone wrong: the others wait for this rank's word about
// the version, which is not to be taken for one about another.
func TestFullDiskAndALostRank(t *testing.T) {
	disk, errs := vfs.NewMem(), make([]error, 2)
	full := vfs.WithErrors(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.HasSuffix(op.Path, ".craft.tmp") {
			return errors.Join(syscall.ENOSPC, comm.ErrProcFailed)
		}
		return nil
	})
	_ = afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		fsys := vfs.FS(disk)
		if c.Rank() == 1 {
			fsys = full
		}
		p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys))
		errs[c.Rank()] = p.cp.Write(ctx)
		return errs[c.Rank()]
	})
	require.ErrorIs(t, errs[1], comm.ErrProcFailed)
	require.Error(t, errs[0])
	require.NotErrorIs(t, errs[0], ErrDisagree)
	require.NotErrorIs(t, errs[0], comm.ErrTruncated)
}
