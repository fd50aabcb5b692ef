package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
)

// An attempt without files that cannot open them when a version is due for them goes on in memory, and tries again
// with the next such version.
func TestMemoryGoesOnWithoutFiles(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 4, 2, "mem:1,pfs:4", inMode(mode))
			w.until = 18
			var away atomic.Bool
			w.atHome = func(*afttest.Rank, vfs.Op) error {
				if away.Load() {
					return errLost
				}
				return nil
			}
			var errs atomic.Int64
			w.refused = func(p *memoryProgram, err error) error {
				if !away.Load() {
					return err
				}
				if p.iter > 7 || !strings.Contains(err.Error(), errLost.Error()) {
					return fmt.Errorf("in iteration %d: %w", p.iter, err)
				}
				errs.Add(1)
				return nil
			}
			w.step = func(p *memoryProgram) error {
				if err := comm.Barrier(t.Context(), p.c); err != nil {
					return err
				}
				switch n := p.epoch(); {
				case n == 0 && p.iter == 5 && p.c.Rank() == 1:
					away.Store(true)
					p.rank.Die()
				case n == 1 && p.iter == 10 && p.c.Rank() == 2:
					p.rank.Die()
				}
				return nil
			}
			w.restored = func(p *memoryProgram) error {
				if p.epoch() == 2 {
					away.Store(false)
				}
				return comm.Barrier(t.Context(), p.c)
			}
			w.run()
			require.EqualValues(t, 4, errs.Load(), w.log.String())
			require.Len(t, w.restarts, 3)
			require.GreaterOrEqual(t, w.restarts[2], 9, "the versions in memory that came after the one that files were due for")
			w.until = 20
			w.run()
			require.Equal(t, 15, w.restarts[3], "version 16 is in files again: "+w.log.String()) // one number was for nothing
		})
	}
}

// Full disks, on all nodes and at home, are errors of the versions that are due for them. Those in memory go on.
func TestMemoryGoesOnWhereDisksAreFull(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 4, 2, "mem:1,local:4", inMode(mode))
			w.until = 18
			var full atomic.Bool
			w.onNode = func(op vfs.Op) error {
				if full.Load() && op.Kind == vfs.OpWrite {
					return syscall.ENOSPC
				}
				return nil
			}
			w.atHome = func(_ *afttest.Rank, op vfs.Op) error { return w.onNode(op) }
			w.refused = func(p *memoryProgram, err error) error {
				if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
					return nil
				}
				return err
			}
			w.step = func(p *memoryProgram) error {
				if err := comm.Barrier(t.Context(), p.c); err != nil {
					return err
				}
				switch n := p.epoch(); {
				case n == 0 && p.iter == 3:
					full.Store(true)
				case n == 0 && p.iter == 15 && p.c.Rank() == 2:
					full.Store(false)
					p.rank.Die()
				}
				return nil
			}
			w.run()
			require.Len(t, w.restarts, 2)
			require.GreaterOrEqual(t, w.restarts[1], 12, w.log.String())
		})
	}
}

// An attempt that cannot go on with what is in memory is the end of the job: what the one before has left
// to do is done when the checkpoint is closed, as nothing closes the session of a process.
func TestMemoryCannotBeRead(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem:1,local:100")
	w.step = func(p *memoryProgram) error {
		if p.iter == 5 && p.c.Rank() == 1 {
			p.rank.Die()
		}
		return nil
	}
	err := w.cluster.Run(t.Context(), w.ranks, func(ctx context.Context, r *afttest.Rank) error {
		// Values of a rank alone, which fewer ranks cannot read.
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return w.body(ctx, z, r, nil) },
			aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithRecovery(comm.Shrinking))
		if comm.SessionOf(ctx).Place().Comm.Rank() == 0 {
			w.notLocked()
		}
		return err
	})
	require.ErrorContains(t, err, "another number of ranks")
}

// Nor is it when a body has failed on another rank, which looks like a failure until the ranks have agreed.
func TestMemoryAndABodyThatFails(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem:1,local:4")
	w.step = func(p *memoryProgram) error {
		if p.iter == 6 && p.c.Rank() == 1 {
			return errLost
		}
		return nil
	}
	err := w.cluster.Run(t.Context(), w.ranks, func(ctx context.Context, r *afttest.Rank) error {
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return w.body(ctx, z, r, nil) },
			aft.WithLogger(slog.New(slog.DiscardHandler)))
		if comm.SessionOf(ctx).Place().Comm.Rank() == 0 {
			w.notLocked()
		}
		return err
	})
	require.ErrorContains(t, err, errLost.Error())
}

func (w *memoryWorld) notLocked() {
	_, err := vfs.ReadFile(w.home, "/pfs/prog/.lock", 1<<20)
	require.ErrorIs(w.t, err, fs.ErrNotExist, "the lock is still there")
}

// What an attempt has begun with in memory is missed by no later job, whatever the attempt has written since.
func TestMemoryRestoredIsNotMissed(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem:1,local:100", WithStrict())
	w.step = func(p *memoryProgram) error {
		if n := p.epoch(); n < 2 && p.iter == 5+2*n && p.c.Rank() == 1 {
			p.rank.Die()
		}
		return nil
	}
	w.run()
	w.step = nil
	before := w.warned() // a failure may have come before all copies were made again
	w.run()
	require.Equal(t, 0, w.restarts[len(w.restarts)-1])
	require.Equal(t, before, w.warned())
}
