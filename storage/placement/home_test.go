package placement_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/placement"
)

// atHome runs a job that restores a version after all nodes are lost.
func (c *cluster) atHome(t *testing.T, version uint64) {
	t.Helper()
	c.homeFails = nil
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
	for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpClose, vfs.OpRename} {
		t.Run(string(kind), func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1)
			var broken atomic.Bool
			broken.Store(true)
			c.homeFails = func(op vfs.Op) error {
				if op.Kind == kind && isPart(op, 2) && broken.Load() {
					return syscall.EIO
				}
				return nil
			}
			c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
				if err := write(ctx, s, 1); err != nil {
					return err
				}
				err, want := s.Flush(ctx, idOf(1)), error(nil)
				if s.Comm().Rank() == 2 {
					want = syscall.EIO
				}
				if err := errors.Join(fails("flush", err, want), comm.Barrier(ctx, s.Comm())); err != nil {
					return err
				}
				if s.Comm().Rank() == 0 {
					entries, err := s.Home().List(ctx)
					if err != nil || len(entries) != 1 || len(entries[0].Parts) != 3 {
						return fmt.Errorf("on the parallel file system: %v, %w", entries, err)
					}
				}
				broken.Store(false)
				if err := comm.Barrier(ctx, s.Comm()); err != nil {
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
	var full atomic.Bool
	full.Store(true)
	c.homeFails = func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && isPart(op, anyRank) && full.Load() {
			return &vfs.ShortWrite{N: 250, Err: syscall.ENOSPC}
		}
		return nil
	}
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
		if err := write(ctx, s, 1); err != nil {
			return err
		}
		if err := errors.Join(fails("flush", s.Flush(ctx, idOf(1)), syscall.ENOSPC), comm.Barrier(ctx, s.Comm())); err != nil {
			return err
		}
		left, err := filepath.Glob(filepath.Join(c.dir, "pfs", "cp", "*v-*"))
		if err != nil || len(left) > 0 {
			return fmt.Errorf("left of what did not fit: %v, %w", left, err)
		}
		if err := comm.Barrier(ctx, s.Comm()); err != nil {
			return err
		}
		full.Store(false)
		return s.Flush(ctx, idOf(1))
	})
	c.atHome(t, 1)
}

// The node and the parallel file system are full: the version is not stored, the
// one before stays, and the next one is as it should be.
func TestNodeAndHomeAreFull(t *testing.T) {
	for _, level := range []storage.Level{storage.Local, storage.Partner, storage.RS} {
		f := newFaulty(level.String())
		f.homeFails = func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite && isPart(op, anyRank) {
				return syscall.ENOSPC
			}
			return nil
		}
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
			if err := comm.Barrier(ctx, m.Comm()); err != nil {
				return err
			}
			o, err := m.write(ctx, 2)
			want := error(nil)
			if faultyNode(m.Comm().Rank()) == 1 {
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
	damaged := storage.Part{Rank: 2, Size: 4}
	for name, damage := range map[string]func([]byte) []byte{
		"a bit": func(data []byte) []byte {
			data[len(data)/2] ^= 1
			return data
		},
		"the end": func(data []byte) []byte { return data[:len(data)-1] },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error {
				return errors.Join(write(ctx, s, 1), s.Flush(ctx, idOf(1)))
			})
			path := filepath.Join(c.dir, "pfs", "cp", idOf(1).String(), damaged.String())
			good, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, damage(slices.Clone(good)), 0o600))
			c.lose(t, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error { return check(ctx, s, 1, 4) })
			c.lose(t, 0, 1)
			c.job(t, "partner,pfs", func(ctx context.Context, s *placement.Placement) error {
				store, err := storage.NewStore(s, container.Options{})
				for rank := 0; rank < 4 && err == nil; rank++ {
					part, want := storage.Part{Rank: rank, Size: 4}, error(nil)
					if part == damaged {
						want = storage.ErrDamaged
					}
					_, err = store.Verify(ctx, "cp", idOf(1), part)
					err = fails(part.String(), err, want)
				}
				return err
			})
			require.NoError(t, os.WriteFile(path, good, 0o600))
			c.atHome(t, 1)
		})
	}
}

// The parallel file system loses its versions while one is on its way there: the
// nodes still have it, and the next job brings it home.
func TestHomeIsLostDuringAFlush(t *testing.T) {
	c := newCluster(t, 0, 0, 1, 1)
	waits := newGate()
	c.homeFails = func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && isPart(op, 2) {
			waits.pass()
		}
		return nil
	}
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
		if err := write(ctx, s, 1); err != nil {
			return err
		}
		if s.Comm().Rank() != 2 {
			if err := s.Flush(ctx, idOf(1)); err != nil {
				return err
			}
		}
		if err := comm.Barrier(ctx, s.Comm()); err != nil {
			return err
		}
		if s.Comm().Rank() == 2 {
			err := errors.Join(waits.await(ctx), os.RemoveAll(filepath.Join(c.dir, "pfs", "cp", idOf(1).String())))
			close(waits.opened)
			return err
		}
		return nil
	})
	c.homeFails = nil
	c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
		return errors.Join(check(ctx, s, 1, 4), s.Flush(ctx, idOf(1)))
	})
	c.atHome(t, 1)
}
