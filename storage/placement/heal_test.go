package placement_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/storagetest"
)

// After the loss of a node the copies that are still there are left alone.
func TestHealingMakesWhatIsMissing(t *testing.T) {
	f := newFaulty("partner")
	f.job(t, func(ctx context.Context, m *member) error {
		_, err := m.write(ctx, 1)
		return err
	})
	f.lose(1)
	var created, parts atomic.Int32
	f.job(t, func(ctx context.Context, m *member) error {
		if err := m.Gather(ctx, idOf(1)); err != nil {
			return err
		}
		if m.rank() == 0 {
			f.breaks(func(_ int, op vfs.Op) error {
				name := strings.TrimPrefix(filepath.Base(op.Path), ".")
				if op.Kind == vfs.OpCreate && strings.HasPrefix(name, "copy-") {
					created.Add(1)
				}
				if op.Kind == vfs.OpCreate && strings.HasPrefix(name, "rank-") {
					parts.Add(1)
				}
				return nil
			})
		}
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		m.Heal(idOf(1))
		m.Healed()
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		if m.rank() == 0 && m.Reached(idOf(1)) != storage.LevelsOf(storage.Partner) {
			return fmt.Errorf("it is at %v", m.Reached(idOf(1)))
		}
		return nil
	})
	f.breaks(nil)
	onANode := faultyRanks / faultyNodes
	require.EqualValues(t, onANode, created.Load())
	require.EqualValues(t, onANode, parts.Load())
	for lost := range faultyNodes { // any node may be lost again
		if lost != 1 {
			f.lose(lost)
			f.restores(t, 1)
			break
		}
	}
}

// A version that is deleted while it is being healed, or damaged and being repaired,
// is no loss: nobody is alarmed, and nothing of it comes back.
func TestDeletedWhileHealing(t *testing.T) {
	is := func(kind vfs.OpKind, prefix string) func(op vfs.Op) bool {
		return func(op vfs.Op) bool {
			return op.Kind == kind && strings.Contains(op.Path, idOf(1).String()) && strings.HasPrefix(strings.TrimPrefix(filepath.Base(op.Path), "."), prefix)
		}
	}
	seed := testseed.Seed(t)
	policies := map[string]storage.Redundancy{"local,pfs": storage.NoRedundancy}
	for _, level := range storagetest.Protecting() {
		policies[level.String()] = level.Redundancy
	}
	for policy, redundancy := range policies {
		protects := "copy-"
		if redundancy == storage.Parity {
			protects = "parity-"
		}
		for name, at := range map[string]func(op vfs.Op) bool{
			"at the directory":                   is(vfs.OpMkdir, ""),
			"at the first byte of the part":      is(vfs.OpCreate, "rank-"),
			"in the middle of the part":          is(vfs.OpWrite, "rank-"),
			"at the name of the part":            is(vfs.OpRename, "rank-"),
			"as a source is read":                is(vfs.OpRead, ""),
			"at the first byte of what protects": is(vfs.OpCreate, protects),
			"in the middle of what protects":     is(vfs.OpWrite, protects),
			"when what protects gets its name":   is(vfs.OpRename, protects),
			"when the part that is lost is new":  is(vfs.OpSync, "rank-"),
		} {
			if redundancy == storage.NoRedundancy && (strings.Contains(name, "protects") || strings.Contains(name, "source")) {
				continue // nothing protects it, and the source is at home
			}
			if redundancy == storage.Parity && (strings.Contains(name, "part") || strings.Contains(name, "directory")) {
				continue // Gather has brought it there
			}
			for _, again := range []bool{false, true} {
				if !leftOut(seed, fmt.Sprint(policy, name, again)) {
					t.Run(fmt.Sprint(policy, " ", name, " ", again), func(t *testing.T) { deletedWhileHealing(t, policy, at, again) })
				}
			}
		}
	}
}

// deletedWhileHealing deletes a version when a node is at an operation; again: the
// first time nobody hears of it.
func deletedWhileHealing(t *testing.T, policy string, at func(op vfs.Op) bool, again bool) {
	f := newFaulty(policy)
	f.job(t, func(ctx context.Context, m *member) error {
		o, err := m.write(ctx, 1)
		err = errors.Join(err, expect("reached", o.Levels, m.Plan(1).BelowHome().With(storage.LevelsOf(storage.Local))))
		if err == nil && m.Plan(1).AtHome() {
			err = m.Flush(ctx, idOf(1))
		}
		return errors.Join(err, comm.Barrier(ctx, m.Comm()))
	})
	f.lose(1)
	reached, deleted := make(chan struct{}), make(chan struct{})
	f.job(t, func(ctx context.Context, m *member) error {
		if err := m.Gather(ctx, idOf(1)); err != nil {
			return err
		}
		if m.rank() == 0 {
			var once sync.Once
			f.breaks(func(_ int, op vfs.Op) error {
				if at(op) {
					once.Do(func() { close(reached) })
					select {
					case <-deleted:
					case <-ctx.Done():
					}
				}
				return nil
			})
		}
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		m.Heal(idOf(1))
		if err := comm.Barrier(ctx, m.Comm()); err != nil { // as the first write is one
			return err
		}
		if m.rank() == 0 {
			select {
			case <-reached:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if again {
				gone, cancel := context.WithCancel(ctx)
				cancel()
				if err := m.Remove(gone, idOf(1)); err == nil {
					return errors.New("deleted, though nobody was asked to")
				}
			}
			if err := m.Remove(ctx, idOf(1)); err != nil {
				return err
			}
			close(deleted)
		}
		m.Healed()
		return comm.Barrier(ctx, m.Comm())
	})
	f.breaks(nil)
	if !again { // who has not heard of it may miss what is gone
		require.NotContains(t, f.log.String(), "level=WARN")
	}
	for node := range f.nodes {
		for _, path := range f.paths(t, node, idOf(1).String()) {
			require.NotRegexp(t, "^(rank|copy|parity)-", filepath.Base(path), "it is back")
		}
	}
	f.job(t, func(ctx context.Context, m *member) error { // after what was swept
		return comm.Barrier(ctx, m.Comm())
	})
	for node := range f.nodes {
		require.Empty(t, f.paths(t, node, idOf(1).String()))
	}
}
