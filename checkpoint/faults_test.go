package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// Every operation of a write is made to fail in turn: the error names its
// cause, the earlier version stays, and a later write works.
func TestEveryOperationOfAWriteMayFail(t *testing.T) {
	// What the error is called changes nothing in who does what at once.
	for _, cause := range sample(t, []error{syscall.ENOSPC, syscall.EIO, syscall.EMFILE, syscall.EACCES, syscall.EROFS}, 1) {
		for _, c := range []struct{ ranks, victim int }{{1, 0}, {2, 0}, {2, 1}} {
			t.Run(fmt.Sprintf("%v on rank %d of %d", cause, c.victim, c.ranks), func(t *testing.T) {
				failures := 0
				for n := 1; failNth(t, n, c.ranks, c.victim, cause, &failures); n++ {
				}
				t.Logf("%d writes failed", failures)
				least := 5
				if vfs.IsFull(cause) {
					least = 4 // the writer tries once more
				}
				require.Greater(t, failures, least)
			})
		}
	}
}

// failNth lets the n-th operation of the fourth write on one rank fail and
// returns false if there are not that many.
func failNth(t *testing.T, n, ranks, victim int, cause error, failures *int) (more bool) {
	disk := vfs.NewMem()
	var armed atomic.Bool
	var count atomic.Int64
	faulty := vfs.WithErrors(disk, func(op vfs.Op) error {
		if !armed.Load() || count.Add(1) != int64(n) {
			return nil
		}
		if op.Kind == vfs.OpWrite && n%2 == 0 {
			return &vfs.ShortWrite{N: int(op.Size / 2), Err: cause}
		}
		return cause
	})
	var failed atomic.Bool
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		fsys := vfs.FS(disk)
		if int(c.Rank()) == victim {
			fsys = faulty
		}
		p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys))
		defer p.cp.Close()
		if err := p.run(ctx, 3, 1); err != nil {
			return err
		}
		p.step()
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		armed.Store(true)
		err := p.cp.UpdateAndWrite(ctx, p.iter, 1)
		armed.Store(false)
		if p.cp.Stats().VersionsFailed > 0 { // a full disk is not full any more when it is tried once more
			failed.Store(true)
		}
		if err != nil {
			if int(c.Rank()) == victim && !errors.Is(err, cause) {
				return fmt.Errorf("operation %d: the error hides its cause: %w", n, err)
			}
			// Nobody has the failed version; the one before is whole.
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			if c.Rank() == 0 {
				if got := newest(t, disk); got != 3 {
					return fmt.Errorf("operation %d: newest version is %d after a failed write", n, got)
				}
			}
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
		}
		p.iter++
		return p.run(ctx, 5, 1) // RestartIfNeeded does nothing now
	})
	require.NoError(t, err)
	require.Equal(t, 5, restartAndFinish(t, disk, ranks, 6, fmt.Sprintf("after operation %d failed", n)))
	if failed.Load() {
		*failures++
	}
	return count.Load() >= int64(n)
}

func newest(t *testing.T, disk vfs.FS) uint64 {
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk))
	entries, err := p.cp.store.List(context.Background())
	require.NoError(t, err)
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].ID.Version // complete or not
}

// A disk that stays full for a while: every write fails, and when there is
// room again the next one works.
func TestDiskFull(t *testing.T) {
	disk := vfs.NewMem()
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk))
	require.NoError(t, p.run(t.Context(), 3, 1))
	p.cp.up.dropSpares() // so that there is nothing to delete
	disk.SetCapacity(disk.Used() + 100)
	for range 3 {
		p.step()
		err := p.cp.UpdateAndWrite(t.Context(), p.iter, 1)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorContains(t, err, "/cp/prog/v-")
		p.iter++
	}
	disk.SetCapacity(-1)
	require.NoError(t, p.run(t.Context(), 8, 1))
	require.NoError(t, p.cp.Close())
	require.Equal(t, 8, restartAndFinish(t, disk, 1, 9, "after the disk was full"))
}

// Errors of the device while reading are not damage: nothing is set aside.
func TestReadErrorIsNotDamage(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.EACCES, syscall.ESTALE} {
		disk := vfs.NewMem()
		p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk))
		require.NoError(t, p.run(t.Context(), 3, 1))
		require.NoError(t, p.cp.Close())
		errorsSeen := 0
		for n := 1; ; n++ {
			var count int
			var hit vfs.Op
			faulty := vfs.WithErrors(disk, func(op vfs.Op) error {
				if op.Kind == vfs.OpRead || op.Kind == vfs.OpOpen {
					if count++; count == n {
						hit = op
						return cause
					}
				}
				return nil
			})
			q := newProgram(t, nil, true, WithPath("/cp"), withFS(faulty))
			err := q.cp.RestartIfNeeded(t.Context(), &q.iter)
			if count < n {
				require.NoError(t, err)
				require.Greater(t, errorsSeen, 5)
				require.NoError(t, q.cp.Close())
				break
			}
			if err == nil { // it was a read ahead, and the real one worked, or the note, or a record, or a look at the older version
				name := filepath.Base(hit.Path)
				require.True(t, hit.Kind == vfs.OpRead || name == filestore.LatestName || strings.HasPrefix(name, filestore.RecordPrefix) || strings.Contains(hit.Path, "v-000002"), "%v", hit)
				require.Equal(t, 3, q.iter)
				require.NoError(t, q.cp.Close())
				continue
			}
			errorsSeen++
			require.ErrorIs(t, err, cause, hit)
			require.NotErrorIs(t, err, storage.ErrDamaged)
			require.NotErrorIs(t, err, ErrNoUsableVersion)
			// The same program may try again.
			require.NoError(t, q.cp.RestartIfNeeded(t.Context(), &q.iter))
			require.Equal(t, 3, q.iter)
			require.NoError(t, q.cp.Close())
		}
	}
}

func TestVanishedDirectory(t *testing.T) {
	disk := vfs.NewMem()
	p := newProgram(t, nil, true, WithPath("/cp"), withFS(disk))
	require.NoError(t, p.run(t.Context(), 3, 1))
	require.NoError(t, vfs.RemoveAll(disk, "/cp"))
	for range 2 { // as long as the base directory is away
		p.step()
		require.ErrorIs(t, p.cp.UpdateAndWrite(t.Context(), p.iter, 1), storage.ErrVanished)
		p.iter++
	}
	require.NoError(t, disk.Mkdir("/cp", 0o700))
	require.NoError(t, p.run(t.Context(), 7, 1))
	require.NoError(t, p.cp.Close())
	require.Equal(t, 7, restartAndFinish(t, disk, 1, 8, "after the directory had vanished"))
}

// fragile is a value whose code panics when it is told to.
type fragile struct{ armed bool }

func (f *fragile) WriteTo(w io.Writer) (int64, error) {
	if f.armed {
		panic("of the value")
	}
	n, err := w.Write([]byte("fine"))
	return int64(n), err
}

func (f *fragile) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// A value that panics leaves nothing half-written and nothing open.
func TestPanicOfAValue(t *testing.T) {
	dir := t.TempDir()
	value := &fragile{}
	cp := open(t, dir, map[string]any{"value": value})
	require.NoError(t, cp.Write(t.Context()))
	value.armed = true
	require.PanicsWithValue(t, "of the value", func() { _ = cp.Write(t.Context()) })
	value.armed = false
	left, err := filepath.Glob(filepath.Join(dir, "test", "v-*", ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
	require.NoError(t, open(t, dir, map[string]any{"value": value}).RestartIfNeeded(t.Context(), nil))
}
