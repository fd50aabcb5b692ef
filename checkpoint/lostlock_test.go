package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// ofEpoch makes a checkpoint take over the lock of those of earlier epochs, whatever
// they are doing. when is called before each operation on files.
func ofEpoch(epoch int, when func(op vfs.Op)) Option {
	return func(o *options) {
		o.lock.Job, o.lock.Epoch = "job", epoch
		o.fs = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error { when(op); return nil })
	}
}

func nothing(vfs.Op) {}

// once calls f at the first operation of a kind on a part of a version.
func once(kind vfs.OpKind, version string, f func()) func(vfs.Op) {
	done := false
	return func(op vfs.Op) {
		if !done && op.Kind == kind && strings.Contains(op.Path, version) && strings.Contains(op.Path, "rank-") {
			done = true
			f()
		}
	}
}

// TestLockLostBeforePublication: another job takes the directory while a version is
// written.
func TestLockLostBeforePublication(t *testing.T) {
	dir := t.TempDir()
	x, y := 1, 0
	second := open(t, dir, map[string]any{"x": &y}, ofEpoch(2, nothing))
	first := open(t, dir, map[string]any{"x": &x}, ofEpoch(1, once(vfs.OpWrite, "v-000002", func() {
		require.NoError(t, second.RestartIfNeeded(t.Context(), nil))
	})))
	require.NoError(t, first.Write(t.Context()))
	x = 2
	err := first.Write(t.Context())
	require.ErrorIs(t, err, storage.ErrLockLost)
	require.ErrorContains(t, err, "it belongs to process")
	require.Equal(t, 1, y)
	require.Equal(t, []string{"v-000001"}, versionsIn(t, dir))
}

// TestPublicationAfterTheSurvey: the last moment, between a holder's look at its lock
// and the name of its version, is while another job restarts.
func TestPublicationAfterTheSurvey(t *testing.T) {
	dir := t.TempDir()
	x, y := 1, 0
	goOn, ended := make(chan struct{}), make(chan error, 1)
	atRename := make(chan struct{})
	first := open(t, dir, map[string]any{"x": &x}, ofEpoch(1, once(vfs.OpRename, "v-000002", func() {
		close(atRename)
		<-goOn
	})))
	require.NoError(t, first.Write(t.Context()))
	go func() {
		x = 2
		ended <- first.Write(t.Context())
	}()
	<-atRename
	var late error
	second := open(t, dir, map[string]any{"x": &y}, ofEpoch(2, once(vfs.OpRead, "v-000001", func() {
		close(goOn) // this one has taken the lock, and looks at what is there
		late = <-ended
	})))
	require.NoError(t, second.RestartIfNeeded(t.Context(), nil))
	require.ErrorIs(t, late, fs.ErrNotExist)
	require.Equal(t, 1, y)
	require.Equal(t, []string{"v-000001"}, versionsIn(t, dir))
}

// TestVersionThatIsCompleteAfterTheSurvey: the other ranks of a job that has lost its
// lock do not look at it. What they complete is no second branch.
func TestVersionThatIsCompleteAfterTheSurvey(t *testing.T) {
	dir := t.TempDir()
	x, y := 1, 0
	store(t, dir, map[string]any{"x": &x})
	second := open(t, dir, map[string]any{"x": &y}, ofEpoch(2, once(vfs.OpRead, "v-000001", func() {
		late := filepath.Join(dir, "test", "v-000002-0123456789abcdef")
		require.NoError(t, os.Mkdir(late, 0o700))
		require.NoError(t, os.Link(filepath.Join(matches(t, dir, "v-000001-*")[0], "rank-00000-of-00001.craft"), filepath.Join(late, "rank-00000-of-00001.craft")))
	})))
	require.NoError(t, second.RestartIfNeeded(t.Context(), nil))
	require.Equal(t, 1, y)
	require.Equal(t, []string{"v-000001"}, versionsIn(t, dir))
	require.NoError(t, second.Write(t.Context()))
	require.Equal(t, []string{"v-000001", "v-000002"}, versionsIn(t, dir))
}

// TestLockLostBeforeAFlush: the lock is lost while a version is copied to the parallel
// file system.
func TestLockLostBeforeAFlush(t *testing.T) {
	n := newTestNodes(t, 0)
	_, err := n.try(t, "local", 2, func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) },
		ofEpoch(1, once(vfs.OpWrite, "v-000002", func() {
			require.NoError(t, os.Remove(filepath.Join(n.dir, "pfs", "grid", filestore.LockName)))
		})))
	require.ErrorIs(t, err, storage.ErrLockLost)
	require.Empty(t, n.flushed(t, 2, ""))
}

// TestLostLockTouchesNothing: what is left to do belongs to the new holder.
func TestLostLockTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	x := 1
	first := open(t, dir, map[string]any{"x": &x}, ofEpoch(1, nothing))
	require.NoError(t, first.Write(t.Context()))
	second := open(t, dir, map[string]any{"x": &x}, ofEpoch(2, nothing))
	require.NoError(t, second.RestartIfNeeded(t.Context(), nil))
	look := func() map[string]time.Time {
		times := make(map[string]time.Time)
		for _, name := range matches(t, dir, "*") {
			info, err := os.Stat(name)
			require.NoError(t, err)
			times[name] = info.ModTime()
		}
		return times
	}
	before := look()
	require.NoError(t, first.Close())
	require.Equal(t, before, look())
}

// TestTwoPathsOfOneDirectory: a program finds its own lock under another name.
func TestTwoPathsOfOneDirectory(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	x := 1
	first := open(t, dir, map[string]any{"x": &x})
	require.NoError(t, first.Write(t.Context()))
	err := open(t, link, map[string]any{"x": &x}).RestartIfNeeded(t.Context(), nil)
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, "another checkpoint of this process")
	require.NoError(t, first.Write(t.Context()))
}

func matches(t *testing.T, dir, pattern string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "test", pattern))
	require.NoError(t, err)
	return names
}

// versionsIn are the numbers of the versions, as the names of directories have them.
func versionsIn(t *testing.T, dir string) (numbers []string) {
	for _, name := range matches(t, dir, "v-*") {
		numbers = append(numbers, filepath.Base(name)[:len("v-000001")])
	}
	return numbers
}

// TestReplacementInAnotherBase: rank 0 is replaced while another directory is in the place of
// the base, which only the survivor knows. A lock of rank 0 there would make it look right.
func TestReplacementInAnotherBase(t *testing.T) {
	above := t.TempDir()
	base := filepath.Join(above, "base")
	process := func() vfs.FS { return vfs.WithErrors(vfs.OS(), func(vfs.Op) error { return nil }) }
	survivor := process()
	attempt := func(epoch int, body func(*program) error) {
		t.Helper()
		require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			p := newProgram(t, c, false, WithPath(base), func(o *options) {
				o.lock.Job, o.lock.Epoch, o.fs = "job", epoch, survivor
				if c.Rank() == 0 {
					o.fs = process()
				}
			})
			return errors.Join(body(p), p.cp.Close())
		}))
	}
	attempt(0, func(p *program) error { return p.run(t.Context(), 3, 1) })
	require.NoError(t, os.Rename(base, filepath.Join(above, "aside")))
	require.NoError(t, os.Mkdir(base, 0o700))
	attempt(1, func(p *program) error {
		err := p.cp.RestartIfNeeded(t.Context(), &p.iter)
		if err == nil || !strings.Contains(err.Error(), storage.ErrVanished.Error()) {
			return fmt.Errorf("iteration %d, and not the error of another base: %w", p.iter, err)
		}
		return nil
	})
	require.NoDirExists(t, filepath.Join(base, "test"))
	require.NoError(t, os.Remove(base))
	require.NoError(t, os.Rename(filepath.Join(above, "aside"), base))
	attempt(2, func(p *program) error {
		err := p.cp.RestartIfNeeded(t.Context(), &p.iter)
		if err == nil && p.iter != 3 {
			err = fmt.Errorf("goes on with iteration %d", p.iter)
		}
		return err
	})
}
