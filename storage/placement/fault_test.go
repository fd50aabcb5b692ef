package placement_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/storagetest"
)

// expect compares what all ranks know.
// at are the levels of a version whose parts are on their nodes, and that is protected at
// others.
func at(levels ...storage.Level) storage.Levels {
	return storage.LevelsOf(append(levels, storage.Local)...)
}

func expect(what string, got, want any) error {
	if got != want {
		return fmt.Errorf("%s: %v instead of %v", what, got, want)
	}
	return nil
}

// Every operation on the files that protect others fails on one node: the version
// is kept on the nodes alone, that is said, the safe version stays, and the next
// one reaches the level that was missed, though the policy does not ask for it.
func TestPartnerDiskFails(t *testing.T) {
	for _, level := range storagetest.Protecting() {
		hits := 0
		for k := int64(1); ; k += 3 {
			f := newFaulty(fmt.Sprintf("local,%v:2", level))
			var count atomic.Int64
			bad := int(k) % faultyNodes
			f.job(t, func(ctx context.Context, m *member) error {
				if o, err := m.write(ctx, 2); err != nil || o.Levels != at(level) {
					return fmt.Errorf("version 2: %v, %w", o, err)
				}
				if m.rank() == 0 {
					f.breaks(func(node int, op vfs.Op) error {
						if node != bad || !isGuard(op) || !op.Kind.Mutates() || count.Add(1) < k {
							return nil
						}
						return syscall.EIO
					})
				}
				if err := comm.Barrier(ctx, m.Comm()); err != nil {
					return err
				}
				o, err := m.write(ctx, 4)
				if err != nil {
					return fmt.Errorf("version 4: %w", err)
				}
				f.breaks(nil)
				if o.Levels == at(level) {
					return nil // there are not that many operations, or it was about cleaning up
				}
				return errors.Join(expect("reached", o.Levels, at(storage.Local)), expect("next", m.Plan(5).BelowHome().With(at()), at(level)))
			})
			if count.Load() < k {
				break
			}
			f.lose((bad + 1 + int(k)%3) % faultyNodes)
			if !strings.Contains(f.log.String(), "not protected as planned") {
				f.restores(t, 4) // it was protected all the same
				continue
			}
			hits++
			require.Contains(t, f.log.String(), syscall.EIO.Error())
			f.restores(t, 2)
		}
		t.Logf("%v: %d versions were not protected", level, hits)
		require.Greater(t, hits, 2)
	}
}

// The level that was missed is reached by the next version, and not asked for
// again.
func TestMissedLevelIsMadeUp(t *testing.T) {
	for _, level := range storagetest.Protecting() {
		f := newFaulty(fmt.Sprintf("local,%v:4", level))
		f.job(t, func(ctx context.Context, m *member) error {
			if m.rank() == 0 {
				f.breaks(func(node int, op vfs.Op) error {
					if node == 1 && isGuard(op) {
						return syscall.EIO
					}
					return nil
				})
			}
			if err := comm.Barrier(ctx, m.Comm()); err != nil {
				return err
			}
			for version := uint64(4); version < 7; version++ { // as long as it fails
				o, err := m.write(ctx, version)
				if err := errors.Join(err, expect("reached", o.Levels, at(storage.Local)), expect("planned", m.Plan(version+1).BelowHome().With(at()), at(level))); err != nil {
					return fmt.Errorf("version %d: %w", version, err)
				}
			}
			f.breaks(nil)
			o, err := m.write(ctx, 7)
			return errors.Join(err, expect("reached", o.Levels, at(level)), expect("planned", m.Plan(9).BelowHome(), at(storage.Local)))
		})
		f.lose(2)
		f.restores(t, 7)
	}
}

// A slow partner delays the end of a write, and nothing else: the parts are whole
// on their own nodes meanwhile. When the caller does not wait any longer, the
// version does not count as protected, and the one before stays.
func TestSlowPartner(t *testing.T) {
	for _, level := range storagetest.Protecting() {
		for _, patient := range []bool{true, false} {
			t.Run(fmt.Sprint(level, " ", patient), func(t *testing.T) {
				f := newFaulty(level.String())
				f.job(t, func(ctx context.Context, m *member) error { return slowPartner(ctx, m, level, patient) })
				f.lose(1)
				if patient {
					f.restores(t, 2)
				} else {
					f.restores(t, 1)
				}
			})
		}
	}
}

func slowPartner(ctx context.Context, m *member, level storage.Level, patient bool) error {
	if o, err := m.write(ctx, 1); err != nil || o.Levels != at(level) {
		return fmt.Errorf("version 1: %v, %w", o, err)
	}
	if m.rank() == 0 {
		m.slow, m.reached = make(chan struct{}), make(chan struct{})
		var published atomic.Int64
		for _, mem := range m.nodes {
			mem.OnOp(func(op vfs.Op) {
				own := op.Kind == vfs.OpRename && strings.HasPrefix(filepath.Base(op.NewPath), "rank-")
				if own && published.Add(1) == faultyRanks { // all parts, while the partner is not done
					close(m.reached)
				}
			})
		}
		m.breaks(func(node int, op vfs.Op) error {
			if base := filepath.Base(op.NewPath); node == 2 && (strings.HasPrefix(base, "copy-") || strings.HasPrefix(base, "parity-")) {
				<-m.slow
			}
			return nil
		})
	}
	if err := comm.Barrier(ctx, m.Comm()); err != nil {
		return err
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		select {
		case <-m.reached:
		case <-ctx.Done():
		}
		switch {
		case !patient:
			cancel()
		case m.rank() == 0:
			close(m.slow)
		}
	})
	h, err := m.put(own, 2)
	protected := m.protected(level, idOf(2), m.rank())
	o, agreed := m.agree(ctx, h, err)
	if !patient && m.rank() == 0 {
		close(m.slow)
	}
	switch {
	case agreed != nil:
		return agreed
	case patient:
		return errors.Join(err, expect("protected", protected, true), expect("reached", o.Levels, at(level)))
	case o.Levels.Include(at(level)):
		return fmt.Errorf("nobody has waited for the partner, and level %v is reached", o.Levels)
	}
	return nil
}

// A node is lost in the middle of the copy: the parts of the others are whole.
func TestPartnerDiesDuringTheCopy(t *testing.T) {
	for _, level := range storagetest.Protecting() {
		f := newFaulty(level.String())
		begun, over := make(chan struct{}), make(chan struct{}) // by all ranks; by nobody any more
		var writing, stored atomic.Int64
		f.job(t, func(ctx context.Context, m *member) error {
			if o, err := m.write(ctx, 1); err != nil || o.Levels != at(level) {
				return fmt.Errorf("version 1: %v, %w", o, err)
			}
			if m.rank() == 0 {
				var once sync.Once
				f.breaks(func(node int, op vfs.Op) error {
					if node != 2 || !isGuard(op) || op.Kind != vfs.OpWrite {
						return nil
					}
					once.Do(func() {
						<-begun // nobody is in the barrier any more
						m.ranks.KillNode(2)
						close(over)
					})
					<-over
					return errors.New("the node is lost")
				})
			}
			if err := comm.Barrier(ctx, m.Comm()); err != nil {
				return err
			}
			if writing.Add(1) == faultyRanks {
				close(begun)
			}
			_, err := m.put(ctx, 2)
			if faultyNode(m.Comm().Rank()) == 2 {
				return nil
			}
			if err == nil {
				stored.Add(1)
			}
			return err
		})
		f.breaks(nil)
		require.Equal(t, int64(6), stored.Load())
		require.Contains(t, f.log.String(), "not protected as planned")
		require.Contains(t, f.log.String(), "process failed")
		f.restores(t, 1)
	}
}

// losesParts deletes the parts of a node's ranks, and nothing else.
func (f *faulty) losesParts(t *testing.T, node int) {
	t.Helper()
	root, lost := fmt.Sprintf("/node%d", node), 0
	for dirs := []string{root}; len(dirs) > 0; dirs = dirs[1:] {
		entries, err := f.nodes[node].ReadDir(dirs[0])
		require.NoError(t, err)
		for _, e := range entries {
			path := filepath.Join(dirs[0], e.Name())
			switch {
			case e.IsDir():
				dirs = append(dirs, path)
			case strings.HasPrefix(e.Name(), "rank-"):
				require.NoError(t, f.nodes[node].Remove(path))
				lost++
			}
		}
	}
	require.Equal(t, faultyRanks/faultyNodes, lost)
}

// What is left of a lost part cannot be read: that is no fault of the node that it
// is to be brought to, and the version cannot be had.
func TestSurvivorsCannotBeRead(t *testing.T) {
	for why, want := range map[error]error{syscall.EIO: syscall.EIO, syscall.EACCES: fs.ErrPermission} { // as it is known elsewhere
		f := newFaulty("xor")
		f.job(t, func(ctx context.Context, m *member) error {
			o, err := m.write(ctx, 1)
			return errors.Join(err, expect("reached", o.Levels, at(storage.XOR)))
		})
		f.losesParts(t, 1)
		f.job(t, func(ctx context.Context, m *member) error {
			if m.rank() == 0 {
				f.breaks(func(node int, op vfs.Op) error {
					if node == 2 && (op.Kind == vfs.OpRead || op.Kind == vfs.OpOpen) && !isGuard(op) {
						return why
					}
					return nil
				})
			}
			if err := comm.Barrier(ctx, m.Comm()); err != nil {
				return err
			}
			err := m.Gather(ctx, idOf(1))
			if faultyNode(m.Comm().Rank()) == 1 {
				err = fails("gather", err, want)
			}
			return errors.Join(err, comm.Barrier(ctx, m.Comm()))
		})
		f.breaks(nil)
		require.NotContains(t, f.log.String(), "cannot be rebuilt on its node")
		f.restores(t, 1)
	}
}
