package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// The directory of the checkpoint was deleted since the version before: the next write makes it again, and at the end there is none but the last.
func TestLastVersionInADirectoryThatIsGone(t *testing.T) {
	for _, mode := range allModes {
		for _, levels := range []bool{false, true} {
			dir, p := t.TempDir(), demand.NewLocal()
			opts := []Option{WithAsync(mode), WithLogger(slog.New(slog.DiscardHandler)), WithNodePath(t.TempDir())}
			if levels {
				opts = append(opts, WithLevels(storage.Local.Every(1), storage.PFS.Every(1000)))
			}
			_, _, err := runToEnd(t.Context(), dir, p, 100, 50, func(iter int) {
				if iter == 57 {
					require.NoError(t, os.Rename(filepath.Join(dir, "loop"), filepath.Join(t.TempDir(), "elsewhere"))) // a write may be under way
					p.Ask(end("SIGTERM"))
				}
			}, opts...)
			var d *DeadlineError
			require.ErrorAs(t, err, &d)
			require.True(t, d.Saved, "%v, levels %v: %v", mode, levels, d)
			require.Zero(t, d.Level)
			require.NoError(t, d.Err)
			sum, first, err := runToEnd(t.Context(), dir, demand.NewLocal(), 100, 50, nil, append(opts, WithNodePath(t.TempDir()))...)
			require.NoError(t, err)
			require.Equal(t, 58, first)
			require.Equal(t, 99*100/2, sum)
		}
	}
}

// So it is with several ranks, of which those that have never written there do not make it.
func TestLastVersionInADirectoryThatIsGoneForRanks(t *testing.T) {
	for _, levels := range []string{"", "partner:1,pfs:1000"} {
		w := newMemoryWorld(t, 4, 2, levels)
		w.step = func(p *memoryProgram) error {
			if p.iter == 5 && p.c.Rank() == 0 {
				require.NoError(t, vfs.RemoveAll(w.home, "/pfs/prog"))
				w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
			}
			return comm.Barrier(t.Context(), p.c)
		}
		require.ErrorIs(t, w.job(), ErrDeadline)
		for i := range w.nodes {
			w.nodes[i] = vfs.NewMem()
		}
		w.step = nil
		w.run()
		require.Equal(t, 6, w.restarts[1], levels)
	}
}

// Whichever operation of the last version fails once, be it of the write or of the way home, the version is stored in the end.
func TestLastVersionAfterAnError(t *testing.T) {
	for _, mode := range allModes {
		for _, levels := range []string{"", "local:1,pfs:1000"} {
			for n := int64(1); ; n++ {
				disk, p := vfs.NewMem(), demand.NewLocal()
				var count atomic.Int64
				var ending atomic.Bool
				var hit vfs.Op
				fail := func(op vfs.Op) error {
					if ending.Load() && count.Add(1) == n {
						hit = op
						return syscall.EIO
					}
					return nil
				}
				opts := []Option{WithAsync(mode), WithLogger(slog.New(slog.DiscardHandler)), withLevels(levels), withFS(vfs.WithErrors(disk, fail))}
				node := func() []Option { return []Option{WithNodePath("/node"), func(o *options) { o.nodeFS = vfs.NewMem() }} }
				_, _, err := runToEnd(t.Context(), "/cp", p, 10, 5, func(iter int) {
					if iter == 7 {
						p.Ask(end("SIGTERM"))
						ending.Store(true)
					}
				}, append(opts, node()...)...)
				var d *DeadlineError
				require.ErrorAs(t, err, &d)
				what := fmt.Sprintf("%v %q %v: %v", mode, levels, hit, err)
				require.True(t, d.Saved, what)
				require.Zero(t, d.Level, what)
				ending.Store(false)
				sum, first, err := runToEnd(t.Context(), "/cp", demand.NewLocal(), 10, 5, nil, append(opts, node()...)...)
				require.NoError(t, err, what)
				require.Equal(t, 8, first, what)
				require.Equal(t, 45, sum, what)
				if count.Load() < n {
					require.Greater(t, n, int64(10))
					break
				}
			}
		}
	}
}

// storedOnce is a checkpoint with a version of iteration 0, in memory, where each write of a later one is refused if refuse says so.
func storedOnce(t *testing.T, p *demand.Point, refuse func() error, opts ...AddOption) *Checkpoint {
	var stored atomic.Bool
	fsys := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
		if stored.Load() && op.Kind == vfs.OpWrite {
			return refuse()
		}
		return nil
	})
	x := 1
	cp, err := New("loop", nil, WithPath("/cp"), withFS(fsys), withPoint(p), WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("x", &x, opts...), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
	stored.Store(true)
	return cp
}

// What lasts is not tried again and again: the job is to end.
func TestLastVersionIsNotTriedForEver(t *testing.T) {
	for failed, tries := range map[error]int{syscall.EIO: lastTries, syscall.ENOSPC: 1, ErrGuard: 1} {
		for _, finishes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p, write, guard := demand.NewLocal(), failed, error(nil)
				if failed == ErrGuard {
					write, guard = nil, errLost
				}
				asked := false
				cp := storedOnce(t, p, func() error { return write }, Guard("test", func() error {
					if asked {
						return guard
					}
					return nil
				}))
				asked = true
				p.Ask(end("SIGTERM"))
				last := func() error { return cp.UpdateAndWrite(t.Context(), 1, 1) }
				if finishes {
					last = func() error { return cp.Finish(t.Context(), 1) }
				}
				err := last()
				require.ErrorIs(t, err, ErrDeadline)
				require.ErrorIs(t, err, failed)
				require.EqualValues(t, tries, cp.Stats().VersionsFailed, "%v, Finish %v", failed, finishes)
				require.NoError(t, cp.Close())
			})
		}
	}
}

// An error that lasts for a moment, longer than two tries take, is over when the third one comes.
func TestLastVersionAfterAMoment(t *testing.T) {
	for _, left := range []time.Duration{0, 25 * time.Second, demand.NoLimit} { // 0: nobody asks for the end
		synctest.Test(t, func(t *testing.T) {
			p, over := demand.NewLocal(), time.Now().Add(600*time.Millisecond)
			cp := storedOnce(t, p, func() error {
				if time.Now().Before(over) {
					return syscall.EIO
				}
				return nil
			})
			if left == 0 {
				require.NoError(t, cp.Finish(t.Context(), 1))
			} else {
				p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: left})
				var d *DeadlineError
				require.ErrorAs(t, cp.UpdateAndWrite(t.Context(), 1, 1), &d)
				require.True(t, d.Saved, "%v: %v", left, d)
			}
			require.EqualValues(t, 2, cp.Stats().VersionsFailed)
			require.NoError(t, cp.Close())
		})
	}
}

// The pause takes no time that the last try needs: a version takes four seconds, and twice that is left.
func TestLastVersionInTheTimeThatThePauseLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, slow, asked, refused := demand.NewLocal(), false, false, 0
		fsys := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
			switch {
			case op.Kind != vfs.OpWrite:
			case slow:
				slow = false
				time.Sleep(4 * time.Second)
			case asked && refused < lastTries-1:
				refused++
				return syscall.EIO
			}
			return nil
		})
		x := 1
		cp, err := New("loop", nil, WithPath("/cp"), withFS(fsys), withPoint(p), WithLogger(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
		slow = true
		require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
		require.Equal(t, 4*time.Second, cp.meet.needs().Cost)
		asked = true
		p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: 8500 * time.Millisecond})
		begun := time.Now()
		var d *DeadlineError
		require.ErrorAs(t, cp.UpdateAndWrite(t.Context(), 1, 1), &d)
		require.True(t, d.Saved, "%v", d)
		require.LessOrEqual(t, time.Since(begun), 500*time.Millisecond)
		require.NoError(t, cp.Close())
	})
}

// A deadline that comes nearer while it waits for the last try is kept, too: it waits for a tenth of that, and tries only with time for it.
func TestLastVersionBeforeANearerDeadline(t *testing.T) {
	for _, halted := range []bool{true, false} { // false: nobody has asked for the end before
		for left, saved := range map[time.Duration]uint64{3 * time.Second: 1, time.Second: 0} { // what a version takes is guessed: a second
			synctest.Test(t, func(t *testing.T) {
				p, began := demand.NewLocal(), time.Now()
				cp := storedOnce(t, p, func() error {
					if time.Since(began) < 200*time.Millisecond {
						return syscall.EIO
					}
					return nil
				})
				defer func() { require.NoError(t, cp.Close()) }()
				time.AfterFunc(100*time.Millisecond, func() { p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: left}) })
				last := cp.Finish
				if halted {
					p.Ask(demand.Demand{Cause: demand.Halt, Source: "craft halt", Left: demand.NoLimit})
					last = func(ctx context.Context, iter int) error { return cp.UpdateAndWrite(ctx, iter, 1) }
				}
				err := last(t.Context(), 1)
				require.LessOrEqual(t, time.Since(began), 100*time.Millisecond+left/10, "%v: %v", left, err)
				require.EqualValues(t, saved, cp.Stats().VersionsWritten-1, "%v: %v", left, err)
				require.EqualValues(t, 2, cp.Stats().VersionsFailed, "%v: %v", left, err)
			})
		}
	}
}

// Without time for another try there is none.
func TestLastVersionWithoutTime(t *testing.T) {
	p := demand.NewLocal()
	cp := storedOnce(t, p, func() error { return syscall.EIO })
	p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: 0})
	require.ErrorIs(t, cp.UpdateAndWrite(t.Context(), 1, 1), ErrDeadline)
	require.EqualValues(t, 1, cp.Stats().VersionsFailed)
	require.NoError(t, cp.Close())
}
