package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
)

// What fails in the background comes out of the next call that waits, on all
// ranks, and that call stores its own version all the same.
func TestBackgroundErrorsSurface(t *testing.T) {
	surfaces := map[string]func(ctx context.Context, p *program) error{
		"UpdateAndWrite": func(ctx context.Context, p *program) error { return p.cp.UpdateAndWrite(ctx, p.iter, 1) },
		"Write":          func(ctx context.Context, p *program) error { return p.cp.Write(ctx) },
		"Wait":           func(ctx context.Context, p *program) error { return p.cp.Wait(ctx) },
	}
	for _, mode := range modes[1:] {
		for name, call := range surfaces {
			for _, ranks := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %s, %d ranks", mode, name, ranks), func(t *testing.T) {
					disk := vfs.NewMem()
					err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
						var armed atomic.Bool
						captured := make(chan struct{}) // a failure before is known at once
						fsys := vfs.WithErrors(disk, func(op vfs.Op) error {
							if armed.Load() && op.Kind == vfs.OpWrite && strings.Contains(op.Path, ".craft") {
								<-captured
								return syscall.ENOSPC
							}
							return nil
						})
						p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys), inMode(mode))
						defer p.cp.Close()
						if err := p.run(ctx, 3, 1); err != nil {
							return err
						}
						armed.Store(c.Rank() == 0)
						if err := p.advance(ctx, 1); err != nil {
							return err
						}
						close(captured)
						if c.Rank() == 0 {
							<-p.cp.line.flight.Load().ticket.Done()
						}
						armed.Store(false)
						p.iter++
						if err := p.cp.UpdateAndWrite(ctx, p.iter, 100); err != nil { // not due
							return err
						}
						err := call(ctx, p)
						var failed *AsyncError
						if !errors.As(err, &failed) || failed.Version != 4 || failed.Iteration != 3 {
							return fmt.Errorf("the failure of version 4 did not come out: %w", err)
						}
						if c.Rank() == 0 && !errors.Is(err, syscall.ENOSPC) {
							return fmt.Errorf("the cause is hidden: %w", err)
						}
						if err := p.cp.Wait(ctx); err != nil {
							return fmt.Errorf("it comes out once: %w", err)
						}
						want := map[string]int{"UpdateAndWrite": 4, "Write": 4, "Wait": 3}[name]
						if s := p.cp.Stats(); s.VersionsWritten != want || s.VersionsFailed != 1 {
							return fmt.Errorf("accounts: %+v", s)
						}
						return nil
					})
					require.NoError(t, err)
				})
			}
		}
	}
}

// touchy is a value whose methods fail or panic when they are told to.
type touchy struct{ update, write func() error }

func (f *touchy) Update() error {
	if f.update != nil {
		return f.update()
	}
	return nil
}

func (f *touchy) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte("half"))
	if err == nil && f.write != nil {
		err = f.write()
	}
	return int64(n), err
}

func (f *touchy) ReadFrom(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

// A value's own failure, or panic, costs its version and nothing else, in all
// modes and on all ranks.
func TestFailingValues(t *testing.T) {
	broken := errors.New("the device is off")
	for _, mode := range modes {
		for _, where := range []string{"update", "write"} {
			for _, ranks := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s, %s, %d ranks", mode, where, ranks), func(t *testing.T) {
					dir := t.TempDir()
					err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
						value := &touchy{}
						big := make([]float64, 10_000)
						cp, err := New("test", c, WithPath(dir), inMode(mode))
						require.NoError(t, err)
						defer cp.Close()
						require.NoError(t, cp.Add("big", &big))
						require.NoError(t, cp.Add("value", value))
						require.NoError(t, cp.Add("more", &big))
						require.NoError(t, cp.Commit())
						fails := func() error { return broken }
						if int(c.Rank()) == ranks-1 && where == "update" {
							value.update = fails
						} else if int(c.Rank()) == ranks-1 {
							value.write = fails
						}
						err = cp.UpdateAndWrite(ctx, 0, 1)
						if err == nil {
							err = cp.Wait(ctx)
						}
						if err == nil || !strings.Contains(err.Error(), `key "value"`) && where == "update" {
							return fmt.Errorf("the failure did not come out: %w", err)
						}
						if int(c.Rank()) == ranks-1 && !errors.Is(err, broken) {
							return fmt.Errorf("the cause is hidden: %w", err)
						}
						value.update, value.write = nil, nil
						if err := cp.UpdateAndWrite(ctx, 1, 1); err != nil {
							return err
						}
						return cp.Wait(ctx)
					})
					require.NoError(t, err)
					left, err := filepath.Glob(filepath.Join(dir, "test", "v-*"))
					require.NoError(t, err)
					require.Len(t, left, 1)
				})
			}
		}
	}
}

// A program goes on after a panic of a value's own code, or the end of the goroutine that
// wrote: Wait says which value it was, wherever that stands among the others.
func TestPanicWhileCopying(t *testing.T) {
	for _, mode := range modes[1:] {
		value, before := &touchy{update: func() error { panic("in Update") }}, []int{1, 2, 3}
		cp := vars{"before": &before, "value": value}.checkpoint(t, nil, t.TempDir(), inMode(mode))
		require.PanicsWithValue(t, "in Update", func() { _ = cp.Write(t.Context()) })
		value.update, value.write = nil, func() error { panic("in WriteTo") }
		require.PanicsWithValue(t, "in WriteTo", func() { _ = cp.Write(t.Context()) })
		value.write = nil
		err := cp.Write(t.Context())
		require.ErrorContains(t, err, "panicked")
		require.ErrorContains(t, err, `key "value"`)
		require.NoError(t, cp.Wait(t.Context()))

		value.write = func() error { runtime.Goexit(); return nil }
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = cp.Write(t.Context())
		}()
		<-ended
		err = cp.Wait(t.Context())
		require.ErrorContains(t, err, `key "value"`)
		require.ErrorContains(t, err, "ended its goroutine")
		value.write = nil
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Wait(t.Context()))
		require.NoError(t, cp.Close())
	}
}

// Every operation of a background write is made to fail in turn, on any rank:
// the failure comes out, earlier versions stay, later ones are stored, and
// nothing is left open, allocated or running.
func TestEveryOperationOfABackgroundWriteMayFail(t *testing.T) {
	for _, mode := range modes[1:] {
		for _, c := range sample(t, []struct{ ranks, victim int }{{1, 0}, {2, 0}, {2, 1}}, 1) {
			failures, n := 0, 1
			for ; failInBackground(t, n, c.ranks, c.victim, mode, &failures); n++ {
			}
			t.Logf("%s, rank %d of %d: %d of %d operations made the version fail", mode, c.victim, c.ranks, failures, n)
			require.Greater(t, failures, 5)
		}
	}
}

func failInBackground(t *testing.T, n, ranks, victim int, mode string, failures *int) (more bool) {
	disk := vfs.NewMem()
	var armed, failed atomic.Bool
	var count atomic.Int64
	faulty := vfs.WithErrors(disk, func(vfs.Op) error {
		if armed.Load() && count.Add(1) == int64(n) {
			return syscall.EIO
		}
		return nil
	})
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		fsys := vfs.FS(disk)
		if int(c.Rank()) == victim {
			fsys = faulty
		}
		p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys), inMode(mode))
		defer p.cp.Close()
		if err := errors.Join(p.run(ctx, 3, 1), p.cp.up.maintenanceDone(ctx)); err != nil {
			return err
		}
		if int(c.Rank()) == victim { // what it has left to do is done
			armed.Store(true)
		}
		err := p.advance(ctx, 1) // one rank alone may know already
		if err == nil || ranks > 1 {
			err = errors.Join(err, p.cp.Wait(ctx))
		}
		if err2 := comm.Barrier(ctx, c); err2 != nil {
			return err2
		}
		armed.Store(false)
		if err != nil {
			failed.Store(true)
			if int(c.Rank()) == victim && !errors.Is(err, syscall.EIO) {
				return fmt.Errorf("operation %d: the error hides its cause: %w", n, err)
			}
		}
		p.iter++
		if err := p.run(ctx, 5, 1); err != nil {
			return err
		}
		err = p.cp.Close()
		if p.cp.out.staging.Allocated() != 0 {
			return errors.New("staging memory is left after Close")
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 5, restartAndFinish(t, disk, ranks, 6, fmt.Sprintf("after operation %d failed", n)))
	if failed.Load() {
		*failures++
	}
	return count.Load() >= int64(n)
}

// Rank 0 cannot look whether another rank's part of the first version is where its own
// is: nobody has that version, and all ranks go on together.
func TestFirstVersionCannotBeLookedAt(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			disk := vfs.NewMem()
			err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
				var failed atomic.Bool
				fsys := vfs.WithErrors(disk, func(op vfs.Op) error {
					if c.Rank() == 0 && op.Kind == vfs.OpOpen && strings.Contains(op.Path, "rank-00001-of") && failed.CompareAndSwap(false, true) {
						return syscall.EIO
					}
					return nil
				})
				p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys), inMode(mode))
				defer p.cp.Close()
				err := p.cp.UpdateAndWrite(ctx, 0, 1)
				if mode != "off" {
					if err != nil {
						return err
					}
					err = p.cp.UpdateAndWrite(ctx, 1, 1) // stores its own version all the same
					var async *AsyncError
					if !errors.As(err, &async) || async.Version != 1 {
						return fmt.Errorf("rank %d: %w", c.Rank(), err)
					}
				}
				if err == nil || c.Rank() == 0 && !errors.Is(err, syscall.EIO) {
					return fmt.Errorf("the failure did not come out: %w", err)
				}
				if err := p.cp.Wait(ctx); err != nil {
					return err
				}
				return comm.Barrier(ctx, c)
			})
			require.NoError(t, err)
			left := versions(t, disk, "/cp/prog")
			want := map[string]int{"off": 0}
			if mode != "off" {
				want[mode] = 1
			}
			require.Len(t, left, want[mode])
		})
	}
}
