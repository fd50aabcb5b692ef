package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

func TestAbortLeavesNothing(t *testing.T) {
	play(t, 2, large, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		for _, n := range sizes(large.Block, large.Window) {
			w, err := r.s.Create(r.ctx, 1, "part")
			require.NoError(r.t, err)
			_, err = w.Write(random(1, n))
			require.NoError(r.t, err)
			require.NoError(r.t, w.Abort())
			_, there := r.memories[1].get("part")
			require.False(r.t, there)
			require.Zero(r.t, r.memories[1].busy, "Abort has waited for the other rank")
			_, err = w.Write([]byte{1})
			require.ErrorIs(r.t, err, fs.ErrClosed)
			require.ErrorIs(r.t, w.Commit(), fs.ErrClosed)
			require.NoError(r.t, w.Abort())
		}
	})
}

// TestErrorsComeBackTyped: at each place where the other rank's handler can fail.
func TestErrorsComeBackTyped(t *testing.T) {
	cause := make([]error, len(known))
	for i, k := range known {
		cause[i] = fmt.Errorf("the handler's words %d: %w", i, k)
	}
	cause = append(cause, errors.New("the handler's words, of an unknown error"),
		&os.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT})
	var failing error
	var mu sync.Mutex
	fail := func() error {
		mu.Lock()
		defer mu.Unlock()
		return failing
	}
	set := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failing = err
	}
	there := &memory{
		create: func(_ context.Context, name string) error { return pick(name == "create", fail) },
		open:   func(_ context.Context, name string) error { return pick(name == "open", fail) },
		write:  func(name string, _ int) error { return pick(name == "write", fail) },
		commit: func(name string) error { return pick(name == "commit", fail) },
		read:   func(name string, _ int64) error { return pick(name == "read", fail) },
	}
	there.put("read", random(1, 3*small.Block))
	check := func(r *trial, op string, err error) {
		var where *Error
		require.ErrorAs(r.t, err, &where, op)
		require.EqualValues(r.t, 1, where.Rank)
		require.ErrorContains(r.t, err, failing.Error())
		for _, k := range known {
			require.Equal(r.t, errors.Is(failing, k), errors.Is(err, k), "%s: %v is %v", op, err, k)
		}
	}
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		for _, err := range cause {
			set(err)
			for _, n := range []int{1, small.Block, 20 * small.Block} {
				for _, op := range []string{"create", "write", "commit"} {
					check(r, op, r.store(1, op, random(1, n), 1000))
				}
			}
			_, err := r.s.Open(r.ctx, 1, "open")
			check(r, "open", err)
			read, err := r.s.Open(r.ctx, 1, "read")
			require.NoError(r.t, err)
			_, err = read.ReadAt(make([]byte, 2*small.Block), 10)
			check(r, "read", err)
			set(nil)                              // a range that could not be read does not end the reader,
			require.Eventually(r.t, func() bool { // and what is under way may still fail
				_, err = read.ReadAt(make([]byte, 2*small.Block), 10)
				return err == nil
			}, patience, time.Millisecond)
			require.NoError(r.t, read.Close())
		}
		require.Len(r.t, there.parts, 1)
		_, err := r.s.Open(r.ctx, 1, "what is not there")
		require.ErrorIs(r.t, err, storage.ErrNotFound)
	})
}

func pick(wanted bool, fail func() error) error {
	if wanted {
		return fail()
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	const room = 10
	there := &memory{write: func(_ string, total int) error {
		if total > room*large.Block {
			return syscall.ENOSPC
		}
		return nil
	}}
	playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		w, err := r.s.Create(r.ctx, 1, "too long")
		require.NoError(r.t, err)
		for err == nil { // the notice waits for a processor, and the trial's context ends one that never comes
			_, err = w.Write(make([]byte, large.Block))
		}
		require.ErrorIs(r.t, err, syscall.ENOSPC)
		require.NoError(r.t, w.Abort())
		require.ErrorIs(r.t, r.store(1, "too long as well", make([]byte, room*large.Block+1), 1000), syscall.ENOSPC)
		require.Empty(r.t, there.parts)
		require.NoError(r.t, r.store(1, "fits", make([]byte, room*large.Block), 1000))
	})
}

// TestBackPressure: a writer is never more than the windows of both sides ahead.
func TestBackPressure(t *testing.T) {
	var stored atomic.Int64
	gate := make(chan struct{})
	there := &memory{write: func(_ string, total int) error {
		<-gate
		stored.Store(int64(total))
		return nil
	}}
	playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		w, err := r.s.Create(r.ctx, 1, "part")
		require.NoError(r.t, err)
		go func() {
			for range 50 {
				gate <- struct{}{}
			}
			close(gate)
		}()
		for k := range 50 {
			_, err = w.Write(make([]byte, large.Block))
			require.NoError(r.t, err)
			ahead := int64(k+1)*int64(large.Block) - stored.Load()
			// Window here, Window there, one being filled, one being stored.
			require.LessOrEqual(r.t, ahead, int64(2*large.Window+2)*int64(large.Block))
		}
		require.NoError(r.t, w.Commit())
	})
}

// TestReceiverDies: the writer, and later ones, are told.
func TestReceiverDies(t *testing.T) {
	for _, at := range []string{"create", "write", "commit"} {
		t.Run(at, func(t *testing.T) {
			reached, over := make(chan struct{}), make(chan struct{})
			var once sync.Once
			stuck := func(is bool) error {
				if is {
					once.Do(func() { close(reached) })
					<-over
				}
				return nil
			}
			there := &memory{
				create: func(_ context.Context, name string) error { return stuck(at == "create" && name == "part") },
				write:  func(_ string, total int) error { return stuck(at == "write" && total > 5*large.Block) },
				commit: func(string) error { return stuck(at == "commit") },
			}
			playOn(t, 3, large, []*memory{nil, there, nil}, func(r *trial) {
				switch r.c.Rank() {
				case 1:
					defer close(over)
					<-reached
					r.f.Die()
				case 2:
					return
				}
				err := r.store(1, "part", make([]byte, 20*large.Block), large.Block)
				require.ErrorIs(r.t, err, comm.ErrProcFailed)
				require.ErrorIs(r.t, r.store(1, "another", nil, 1), comm.ErrProcFailed)
				_, err = r.s.Open(r.ctx, 1, "part")
				require.ErrorIs(r.t, err, comm.ErrProcFailed)
				require.NoError(r.t, r.store(2, "part", make([]byte, large.Block), 100), "others are still there")
			})
			if at != "commit" {
				require.Empty(t, there.parts)
			}
		})
	}
}

// TestSenderDies: nothing of its part is left, whatever the handler is doing.
func TestSenderDies(t *testing.T) {
	for _, at := range []string{"create", "write", "stuck write"} {
		t.Run(at, func(t *testing.T) {
			reached := make(chan struct{})
			var once sync.Once
			var sent atomic.Int64
			var handler context.Context
			there := &memory{
				create: func(ctx context.Context, _ string) error {
					handler = ctx
					if at == "create" {
						close(reached)
						<-ctx.Done()
						return context.Cause(ctx)
					}
					return nil
				},
				write: func(_ string, total int) error {
					if total <= 5*large.Block {
						return nil
					}
					once.Do(func() { close(reached) })
					if at == "stuck write" { // and all buffers are full
						<-handler.Done()
						return context.Cause(handler)
					}
					return nil
				},
			}
			playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
				if r.c.Rank() == 1 {
					<-reached
					for at == "stuck write" && sent.Load() < int64(8*large.Block) {
						runtime.Gosched()
					}
					r.f.Kill(0)
					return
				}
				w, err := r.s.Create(r.ctx, 1, "part")
				for err == nil {
					var n int
					n, err = w.Write(make([]byte, 1000))
					sent.Add(int64(n))
				}
				if w != nil {
					_ = w.Abort()
				}
			})
			require.Empty(t, there.parts)
		})
	}
}

func TestDeathWhileReading(t *testing.T) {
	there := &memory{}
	there.put("part", make([]byte, 100*large.Block))
	playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			r.hear(0)
			r.f.Die()
		}
		read, err := r.s.Open(r.ctx, 1, "part")
		require.NoError(r.t, err)
		defer read.Close()
		p := make([]byte, large.Block/2)
		for off := int64(0); err == nil && off < read.Size(); off += int64(len(p)) {
			if off == int64(10*large.Block) {
				r.tell(1)
			}
			_, err = read.ReadAt(p, off%read.Size())
			if off > int64(20*large.Block) {
				off = int64(10*large.Block) + 1 // go on until it is gone
			}
		}
		require.ErrorIs(r.t, err, comm.ErrProcFailed)
	})
}

func TestRevoke(t *testing.T) {
	there := &memory{}
	there.put("part", make([]byte, 10*large.Block))
	there.create = func(ctx context.Context, name string) error {
		if name == "stuck" {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	}
	playOn(t, 3, large, []*memory{nil, there, nil}, func(r *trial) {
		switch r.c.Rank() {
		case 1:
			return
		case 2:
			r.hear(0)
			require.NoError(r.t, r.c.Revoke())
			return
		}
		w, err := r.s.Create(r.ctx, 1, "another part")
		require.NoError(r.t, err)
		read, err := r.s.Open(r.ctx, 1, "part")
		require.NoError(r.t, err)
		var ends sync.WaitGroup
		ends.Go(func() {
			if _, err := r.s.Create(r.ctx, 1, "stuck"); !errors.Is(err, comm.ErrRevoked) {
				r.t.Errorf("a create that waits: %v", err)
			}
		})
		ends.Go(func() {
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 1000))
			}
			if !errors.Is(err, comm.ErrRevoked) {
				r.t.Errorf("a write: %v", err)
			}
			_ = w.Abort()
		})
		ends.Go(func() {
			var err error
			for off := int64(0); err == nil; off += 1000 {
				_, err = read.ReadAt(make([]byte, 1000), off%(9*int64(large.Block)))
			}
			if !errors.Is(err, comm.ErrRevoked) {
				r.t.Errorf("a read: %v", err)
			}
			_ = read.Close()
		})
		r.tell(2)
		ends.Wait()
		_, err = r.s.Open(r.ctx, 1, "part")
		require.ErrorIs(r.t, err, comm.ErrRevoked)
	})
	require.Len(t, there.parts, 1)
}
