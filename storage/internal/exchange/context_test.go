package exchange

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

var errEnough = errors.New("enough")

// TestContextEnds: the call returns at once although the other rank is stuck, and
// nothing is stored there.
func TestContextEnds(t *testing.T) {
	for _, at := range []string{"create", "write", "commit", "open", "read"} {
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
			freed := make(chan struct{})
			waits := func(ctx context.Context, is bool) error {
				if is {
					defer close(freed)
					close(reached)
					<-ctx.Done() // told by the other rank, before it is over
					return context.Cause(ctx)
				}
				return nil
			}
			there := &memory{
				create: func(ctx context.Context, _ string) error { return waits(ctx, at == "create") },
				open:   func(context.Context, string) error { return stuck(at == "open") },
				write:  func(string, int) error { return stuck(at == "write") },
				commit: func(string) error { return stuck(at == "commit") },
				read:   func(string, int64) error { return stuck(at == "read") },
			}
			there.put("lent", make([]byte, 10*large.Block))
			playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
				if r.c.Rank() == 1 {
					return
				}
				defer close(over)
				own, cancel := context.WithCancelCause(r.ctx)
				go func() {
					<-reached
					cancel(errEnough)
				}()
				var err error
				switch at {
				case "open", "read":
					var read storage.PartReader
					read, err = r.s.Open(own, 1, "lent")
					if err == nil {
						_, err = read.ReadAt(make([]byte, large.Block), 0)
						require.NoError(r.t, read.Close())
					}
				default:
					r.ctx = own
					err = r.store(1, "part", make([]byte, 10*large.Block), 1000)
				}
				require.ErrorIs(r.t, err, context.Canceled)
				require.ErrorIs(r.t, err, errEnough)
				if at == "create" {
					<-freed
				}
			})
			_, there2 := there.get("part")
			require.Equal(t, at == "commit", there2, "only a commit that is under way cannot be taken back")
		})
	}
}

// TestCommitThatIsNotWantedAnyMore: the context ends while the handler still
// writes what has come before the commit. Nothing is published.
func TestCommitThatIsNotWantedAnyMore(t *testing.T) {
	reached := make(chan struct{})
	var handler context.Context
	there := &memory{
		create: func(ctx context.Context, _ string) error { handler = ctx; return nil },
		write: func(string, int) error {
			close(reached)
			<-handler.Done()
			return nil
		},
	}
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		own, cancel := context.WithCancelCause(r.ctx)
		go func() {
			<-reached
			cancel(errEnough)
		}()
		r.ctx = own
		require.ErrorIs(r.t, r.store(1, "part", []byte("all of it"), 100), errEnough)
	})
	require.Empty(t, there.parts)
}

// TestSlowHandlerStallsNobody: while one request hangs, others are served.
func TestSlowHandlerStallsNobody(t *testing.T) {
	over := make(chan struct{})
	there := &memory{
		create: func(_ context.Context, name string) error {
			if name == "slow" {
				<-over
			}
			return nil
		},
	}
	playOn(t, 3, large, []*memory{nil, there, nil}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		var slow sync.WaitGroup
		if r.c.Rank() == 0 {
			slow.Go(func() {
				if err := r.store(1, "slow", make([]byte, 10), 10); err != nil {
					r.t.Error(err)
				}
			})
		}
		require.NoError(r.t, r.store(1, "quick", make([]byte, 10*large.Block), 1000))
		if r.c.Rank() == 0 {
			r.hear(2)
			close(over)
		} else {
			r.tell(0)
		}
		slow.Wait()
	})
	require.Len(t, there.parts, 2)
}

// TestPlacesAreBounded: what has no place waits until its context ends.
func TestPlacesAreBounded(t *testing.T) {
	play(t, 2, small, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		var open []storage.PartWriter
		for range small.Streams {
			w, err := r.s.Create(r.ctx, 1, "part")
			require.NoError(r.t, err)
			open = append(open, w)
		}
		own, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond) // time to be refused
		defer cancel()
		_, err := r.s.Create(own, 1, "one more")
		require.ErrorIs(r.t, err, context.DeadlineExceeded)
		for _, w := range open {
			require.NoError(r.t, w.Abort())
		}
		require.NoError(r.t, r.store(1, "one more", nil, 1))
	})
}

// TestCloseEndsOwnStreams also where the user has forgotten them.
func TestCloseEndsOwnStreams(t *testing.T) {
	there := &memory{}
	there.put("lent", make([]byte, 10*large.Block))
	playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		w, err := r.s.Create(r.ctx, 1, "part")
		require.NoError(r.t, err)
		_, err = w.Write(make([]byte, 5*large.Block))
		require.NoError(r.t, err)
		read, err := r.s.Open(r.ctx, 1, "lent")
		require.NoError(r.t, err)
		_, err = read.ReadAt(make([]byte, 10), 0)
		require.NoError(r.t, err)
		_, err = read.ReadAt(make([]byte, 10), 10)
		require.NoError(r.t, err)
		require.NoError(r.t, r.s.Close(r.ctx))
		_, err = w.Write([]byte{1})
		require.ErrorIs(r.t, err, ErrClosed)
		require.ErrorIs(r.t, w.Commit(), ErrClosed)
		_, err = read.ReadAt(make([]byte, 10), 20)
		require.ErrorIs(r.t, err, ErrClosed)
		require.NoError(r.t, read.Close())
		_, err = r.s.Create(r.ctx, 1, "late")
		require.ErrorIs(r.t, err, ErrClosed)
	})
	require.Len(t, there.parts, 1)
}

// TestCloseWaitsForTheOthers: a rank that wants nothing more still serves.
func TestCloseWaitsForTheOthers(t *testing.T) {
	play(t, 2, large, func(r *trial) {
		if r.c.Rank() == 1 {
			r.tell(0)
			require.NoError(r.t, r.s.Close(r.ctx))
			_, stored := r.memory.get("part")
			require.True(r.t, stored)
			return
		}
		r.hear(1)
		require.NoError(r.t, r.store(1, "part", make([]byte, 10*large.Block), 1000))
	})
}

// TestEarlyEnd: a service that ends without the others, by Close or by the context
// of New, leaves nobody waiting.
func TestEarlyEnd(t *testing.T) {
	for name, end := range map[string]func(r *trial){
		"close": func(r *trial) {
			require.ErrorIs(r.t, r.s.Close(ended), context.Canceled)
		},
		"context": func(r *trial) { r.s.cancel(errEnough) },
	} {
		t.Run(name, func(t *testing.T) {
			there := &memory{}
			there.put("lent", make([]byte, 100*large.Block))
			playOn(t, 2, large, []*memory{nil, there}, func(r *trial) {
				if r.c.Rank() == 1 {
					r.hear(0)
					end(r)
					r.hear(0)
					return
				}
				w, err := r.s.Create(r.ctx, 1, "part")
				require.NoError(r.t, err)
				read, err := r.s.Open(r.ctx, 1, "lent")
				require.NoError(r.t, err)
				r.tell(1)
				for err == nil {
					_, err = w.Write(make([]byte, 1000))
				}
				require.ErrorIs(r.t, err, ErrClosed)
				_ = w.Abort()
				for off := int64(0); ; off += 1000 {
					if _, err := read.ReadAt(make([]byte, 1000), off%(90*int64(large.Block))); err != nil {
						require.ErrorIs(r.t, err, ErrClosed)
						break
					}
				}
				require.NoError(r.t, read.Close())
				_, err = r.s.Create(r.ctx, 1, "late")
				require.ErrorIs(r.t, err, ErrClosed)
				r.tell(1)
			})
			require.Len(t, there.parts, 1)
		})
	}
}
