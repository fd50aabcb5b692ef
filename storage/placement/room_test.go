package placement_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/storagetest"
)

// The storage of a node is full at every stage of a part: the part goes to the
// parallel file system, or, when it is too late for that, the version is not
// stored; the one before stays, and the next one is as it should be.
func TestNodeIsFull(t *testing.T) {
	seed := testseed.Seed(t)
	for _, level := range append(storagetest.Protecting(), storage.Local) {
		for name, full := range map[string]func(op vfs.Op) bool{
			"at the directory":  func(op vfs.Op) bool { return op.Kind == vfs.OpMkdir },
			"at creation":       func(op vfs.Op) bool { return op.Kind == vfs.OpCreate || op.Kind == vfs.OpOverwrite },
			"at the first byte": func(op vfs.Op) bool { return op.Kind == vfs.OpWrite },
			"in the middle":     func(op vfs.Op) bool { return op.Kind == vfs.OpWrite && op.Offset > 0 },
			"at the end":        func(op vfs.Op) bool { return op.Kind == vfs.OpSync },
			"at its name":       func(op vfs.Op) bool { return op.Kind == vfs.OpRename && strings.HasSuffix(op.Path, ".tmp") },
		} {
			if !leftOut(seed, fmt.Sprint(level, name)) {
				t.Run(fmt.Sprint(level, " ", name), func(t *testing.T) { nodeIsFull(t, level, full, name) })
			}
		}
	}
}

func nodeIsFull(t *testing.T, level storage.Level, full func(op vfs.Op) bool, name string) {
	f := newFaulty(level.String())
	late := name == "at the end" || name == "at its name"
	f.job(t, func(ctx context.Context, m *member) error {
		if o, err := m.write(ctx, 1); err != nil || o.Levels != at(level) {
			return fmt.Errorf("version 1: %v, %w", o, err)
		}
		if m.rank() == 0 {
			f.breaks(func(node int, op vfs.Op) error {
				if node != 1 || !full(op) {
					return nil
				}
				if op.Kind == vfs.OpWrite && op.Size > 2 {
					return &vfs.ShortWrite{N: int(op.Size / 2), Err: syscall.ENOSPC}
				}
				return syscall.ENOSPC
			})
		}
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		o, err := m.write(ctx, 2)
		f.breaks(nil)
		if late {
			if onFull := faultyNode(m.Comm().Rank()) == 1; onFull != errors.Is(err, nodelocal.ErrNoSpace) {
				return fmt.Errorf("version 2: %w", err)
			}
			return errors.Join(expect("reached", o.Levels, storage.Levels(0)), expect("next", m.Plan(3).BelowHome().With(at()), at(level)))
		}
		if name != "in the middle" || o.Levels != at(level) { // what protects others may have come in one piece
			err = errors.Join(err, expect("reached", o.Levels, at(storage.Local)), expect("next", m.Plan(3).BelowHome().With(at()), at(level)))
		}
		return errors.Join(err, expect("spilled", o.Spilled, true))
	})
	if late {
		f.restores(t, 1)
	} else {
		require.Contains(t, f.log.String(), "storage is full: a part goes to the parallel file system")
		f.restores(t, 2)
	}
	f.job(t, func(ctx context.Context, m *member) error {
		o, err := m.write(ctx, 3)
		return errors.Join(err, expect("reached", o.Levels, at(level)), expect("spilled", o.Spilled, false))
	})
	if level != storage.Local {
		f.lose(3)
	}
	f.restores(t, 3)
}

// A node whose storage has no room for some versions: what fits is there, what
// does not is at home, and the bytes are right.
func TestNodeWithLittleRoom(t *testing.T) {
	growth := int64(2)
	if testing.Short() {
		growth = 4
	}
	for _, level := range []storage.Level{storage.Partner, storage.RS} {
		for room := int64(1000); room < 1<<20; room = room*growth + 777 {
			f := newFaulty(level.String())
			f.job(t, func(ctx context.Context, m *member) error {
				if _, err := m.write(ctx, 1); err != nil {
					return err
				}
				if m.rank() == 0 {
					f.nodes[1].SetCapacity(f.nodes[1].Used() + room)
				}
				if err := comm.Barrier(ctx, m.Comm()); err != nil {
					return err
				}
				o, err := m.write(ctx, 2)
				if err != nil || o.Levels == 0 {
					return fmt.Errorf("version 2: %v, %w", o, err)
				}
				return nil
			})
			f.restores(t, 2)
			f.nodes[1].SetCapacity(-1)
			f.lose(0)
			f.restores(t, 1)
		}
	}
}

// The storage of a node is full, or gone, when lost parts are brought to it: they
// are read all the same, and nobody takes the version for as safe as it was. When
// there is room again it heals.
func TestNoRoomForLostParts(t *testing.T) {
	for _, level := range []storage.Level{storage.XOR, storage.RS} {
		for _, takes := range []error{nil, syscall.ENOSPC, syscall.EFBIG, syscall.ELOOP} {
			t.Run(fmt.Sprint(level, " ", takes), func(t *testing.T) {
				f := newFaulty(level.String())
				f.job(t, func(ctx context.Context, m *member) error {
					o, err := m.write(ctx, 1)
					return errors.Join(err, expect("reached", o.Levels, at(level)))
				})
				f.losesParts(t, 1) // parity alone would be reason enough to heal
				f.job(t, func(ctx context.Context, m *member) error { return noRoomForLostParts(ctx, m, level, takes) })
				require.Contains(t, f.log.String(), "cannot be rebuilt on its node")
				f.lose(2)
				f.restores(t, 1)
			})
		}
	}
}

// noRoomForLostParts reads what is lost where the storage of a node takes nothing, with an error, or
// is gone, nil.
func noRoomForLostParts(ctx context.Context, m *member, level storage.Level, takes error) error {
	if m.rank() == 0 && takes == nil {
		if err := vfs.RemoveAll(m.nodes[1], "/node1"); err != nil {
			return err
		}
	} else if m.rank() == 0 {
		m.breaks(func(node int, op vfs.Op) error {
			if node == 1 && op.Kind == vfs.OpWrite {
				return takes
			}
			return nil
		})
	}
	if err := comm.Barrier(ctx, m.Comm()); err != nil {
		return err
	}
	if err := m.check(ctx, 1); err != nil {
		return err
	}
	weak := storage.Local
	if level == storage.RS { // it survives one more loss still
		weak = storage.XOR
	}
	if err := expect("kept", m.Kept(idOf(1)).Reached, at(weak)); err != nil {
		return err
	}
	if err := comm.Barrier(ctx, m.Comm()); err != nil {
		return err
	}
	if m.rank() == 0 && takes == nil {
		if err := m.nodes[1].Mkdir("/node1", 0o700); err != nil {
			return err
		}
	}
	m.breaks(nil)
	if err := comm.Barrier(ctx, m.Comm()); err != nil {
		return err
	}
	if err := m.Survey(ctx); err != nil { // as the next restart does
		return err
	}
	if err := m.Gather(ctx, idOf(1)); err != nil {
		return err
	}
	m.Heal(idOf(1))
	m.Healed()
	if err := comm.Barrier(ctx, m.Comm()); err != nil || m.rank() > 0 {
		return err
	}
	return expect("healed", m.Reached(idOf(1)), at(level))
}
