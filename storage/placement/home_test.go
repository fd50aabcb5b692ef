package placement_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/placement"
	"github.com/craft-go/craft/storage/storagetest"
)

// atHome runs a job that restores a version after all nodes are lost.
func (c *cluster) atHome(t *testing.T, version uint64) {
	t.Helper()
	c.wrap = nil
	c.lose(t, c.nodes...)
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error { return check(ctx, s, version, len(c.nodes)) })
}

// fails expects an error.
func fails(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: %v instead of %w", what, err, want)
	}
	return nil
}

// A flush that fails at any operation leaves nothing half written, the version
// stays on the nodes, and the next flush brings it home.
func TestFlushThatFails(t *testing.T) {
	for _, kind := range []storagetest.OpKind{storagetest.OpCreate, storagetest.OpWrite, storagetest.OpCommit} {
		t.Run(kind.String(), func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1)
			var broken atomic.Bool
			broken.Store(true)
			c.wrap = func(d storage.Driver) storage.Driver {
				return storagetest.Failing(d, func(op storagetest.Op) error {
					if op.Kind == kind && op.Part.Rank == 2 && broken.Load() {
						return syscall.EIO
					}
					return nil
				})
			}
			c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
				if err := write(ctx, s, 1); err != nil {
					return err
				}
				err, want := s.Flush(ctx, idOf(1)), error(nil)
				if s.Comm.Rank() == 2 {
					want = syscall.EIO
				}
				if err := errors.Join(fails("flush", err, want), comm.Barrier(ctx, s.Comm)); err != nil {
					return err
				}
				if s.Comm.Rank() == 0 {
					entries, err := s.Home.List(ctx)
					if err != nil || len(entries) != 1 || len(entries[0].Parts) != 3 {
						return fmt.Errorf("on the parallel file system: %v, %w", entries, err)
					}
				}
				broken.Store(false)
				if err := comm.Barrier(ctx, s.Comm); err != nil {
					return err
				}
				return s.Flush(ctx, idOf(1))
			})
			c.atHome(t, 1)
		})
	}
}

// A full parallel file system takes no version, and no half of one; when there is
// room again, the version is still on the nodes.
func TestFullHome(t *testing.T) {
	c := newCluster(t, 0, 0, 1, 1)
	var once sync.Once
	var full *storagetest.FullDriver
	c.wrap = func(d storage.Driver) storage.Driver { // one for all ranks
		once.Do(func() { full = storagetest.Full(d, 1000) })
		return full
	}
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
		if err := write(ctx, s, 1); err != nil {
			return err
		}
		if err := errors.Join(fails("flush", s.Flush(ctx, idOf(1)), syscall.ENOSPC), comm.Barrier(ctx, s.Comm)); err != nil {
			return err
		}
		if used := full.Used(); s.Comm.Rank() == 0 && used != 0 {
			return fmt.Errorf("%d bytes are left of what did not fit", used)
		}
		if err := comm.Barrier(ctx, s.Comm); err != nil {
			return err
		}
		full.SetCapacity(-1)
		return s.Flush(ctx, idOf(1))
	})
	c.atHome(t, 1)
}

// The node and the parallel file system are full: the version is not stored, the
// one before stays, and the next one is as it should be.
func TestNodeAndHomeAreFull(t *testing.T) {
	for _, level := range []storage.Level{storage.Local, storage.Partner, storage.RS} {
		f := newFaulty(level.String())
		f.wrap = func(d storage.Driver) storage.Driver { return storagetest.Full(d, 0) }
		f.job(t, func(ctx context.Context, m *member) error {
			if o, err := m.write(ctx, 1); err != nil || o.Levels != at(level) {
				return fmt.Errorf("version 1: %v, %w", o, err)
			}
			if m.rank() == 0 {
				f.breaks(func(node int, op vfs.Op) error {
					if node == 1 && op.Kind == vfs.OpWrite {
						return syscall.ENOSPC
					}
					return nil
				})
			}
			if err := comm.Barrier(ctx, m.Comm); err != nil {
				return err
			}
			o, err := m.write(ctx, 2)
			want := error(nil)
			if faultyNode(m.Comm.Rank()) == 1 {
				want = syscall.ENOSPC
			}
			f.breaks(nil)
			return errors.Join(fails("version 2", err, want), expect("reached", o.Levels, storage.Levels(0)), expect("next", m.Plan(3).BelowHome().With(at()), at(level)))
		})
		f.restores(t, 1)
		f.job(t, func(ctx context.Context, m *member) error {
			o, err := m.write(ctx, 3)
			return errors.Join(err, expect("reached", o.Levels, at(level)))
		})
		if level != storage.Local {
			f.lose(3)
		}
		f.restores(t, 3)
	}
}

// What is wrong on the parallel file system, and nowhere else, is found; what the
// nodes have is not read from there.
func TestDamageAtHome(t *testing.T) {
	second := func(part storage.Part) bool { return part.Rank == 2 }
	for name, damage := range map[string]func(storage.Driver) storage.Driver{
		"a bit": func(d storage.Driver) storage.Driver {
			return storagetest.Flipping(d, func(_ storage.ID, part storage.Part, size int64) []int64 {
				if second(part) {
					return []int64{size * 4}
				}
				return nil
			})
		},
		"the end": func(d storage.Driver) storage.Driver {
			return storagetest.Truncating(d, func(_ storage.ID, part storage.Part, size int64) int64 {
				if second(part) {
					return size - 1
				}
				return size
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error {
				return errors.Join(write(ctx, s, 1), s.Flush(ctx, idOf(1)))
			})
			c.wrap = damage
			c.lose(t, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error { return check(ctx, s, 1, 4) })
			c.lose(t, 0, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error {
				store, err := storage.NewStore(s, container.Options{})
				for rank := 0; rank < 4 && err == nil; rank++ {
					part, want := storage.Part{Rank: rank, Size: 4}, error(nil)
					if second(part) {
						want = storage.ErrDamaged
					}
					_, err = store.Verify(ctx, "cp", idOf(1), part)
					err = fails(part.String(), err, want)
				}
				return err
			})
			c.atHome(t, 1)
		})
	}
}

// The parallel file system loses its versions while one is on its way there: the
// nodes still have it, and the next job brings it home.
func TestHomeIsLostDuringAFlush(t *testing.T) {
	c := newCluster(t, 0, 0, 1, 1)
	var gate storagetest.Gate
	gate.Shut(func(op storagetest.Op) bool { return op.Kind == storagetest.OpWrite && op.Part.Rank == 2 })
	var once sync.Once
	var lost *storagetest.LostDriver
	c.wrap = func(d storage.Driver) storage.Driver { // one for all ranks
		once.Do(func() { lost = storagetest.Lost(d) })
		return storagetest.Slow(lost, &gate)
	}
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
		if err := write(ctx, s, 1); err != nil {
			return err
		}
		if s.Comm.Rank() != 2 {
			if err := s.Flush(ctx, idOf(1)); err != nil {
				return err
			}
		}
		if err := comm.Barrier(ctx, s.Comm); err != nil {
			return err
		}
		if s.Comm.Rank() == 2 {
			_, err := gate.Await(ctx, 1)
			err = errors.Join(err, lost.Lose(ctx))
			gate.Open()
			return err
		}
		return nil
	})
	c.wrap = nil
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
		return errors.Join(check(ctx, s, 1, 4), s.Flush(ctx, idOf(1)))
	})
	c.atHome(t, 1)
}
