package erasure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// awaitAllGiven waits until all other members have given their parts to this one, so
// that all of them are waiting in Commit.
func (m *member) awaitAllGiven(id storage.ID) {
	require.Eventually(m.t, func() bool {
		c := m.collecting(id)
		if c == nil {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.complete() == beyond
	}, patience, 1e6)
}

func (x *trial) requireNoParity(id storage.ID, ranks ...int) {
	for _, rank := range ranks {
		_, err := x.nodes[rank].OpenObject(x.t.Context(), x.parityKey(id, rank))
		require.ErrorIs(x.t, err, storage.ErrNotFound)
	}
}

func ranksOf(n int) []int {
	var out []int
	for r := range n {
		out = append(out, r)
	}
	return out
}

// One member gives a version up, in different ways, when the others have given
// all. They get an error that names it, late ones the same, and the next version
// is fine.
func TestOneGivesUp(t *testing.T) {
	const culprit = 1
	for name, giveUp := range map[string]func(m *member, id storage.ID) error{
		"forgo": func(m *member, id storage.ID) error { return m.scheme.Skip(m.ctx, id, m.part(m.me)) },
		"abort at once": func(m *member, id storage.ID) error {
			w, err := m.scheme.Create(m.ctx, id, m.part(m.me))
			if err != nil {
				return err
			}
			return w.Abort()
		},
		"abort in the middle": func(m *member, id storage.ID) error {
			w, err := m.scheme.Create(m.ctx, id, m.part(m.me))
			if err != nil {
				return err
			}
			if _, err := w.Write(make([]byte, 12345)); err != nil {
				return err
			}
			return errors.Join(w.Abort(), w.Abort())
		},
		"context": func(m *member, id storage.ID) error {
			ctx, cancel := context.WithCancel(m.ctx)
			defer cancel()
			w, err := m.scheme.Create(ctx, id, m.part(m.me))
			if err != nil {
				return err
			}
			_, err = w.Write(make([]byte, 12345))
			cancel()
			if commit := w.Commit(); !errors.Is(commit, context.Canceled) {
				return fmt.Errorf("commit: %w", commit)
			}
			return err
		},
		"context before": func(m *member, id storage.ID) error {
			ctx, cancel := context.WithCancel(m.ctx)
			cancel()
			if _, err := m.scheme.Create(ctx, id, m.part(m.me)); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("create: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := testseed.Rand(t)
			x := newTrial(t, 4, 1)
			data := unevenParts(rng, Layout{4, 1, x.block}, 5000)
			check := func(m *member, op string, err error) {
				var giver *GiverError
				if !errors.As(err, &giver) || giver.Rank != culprit || giver.ID != idOf(7) {
					t.Errorf("rank %d: %s: %v", m.me, op, err)
				}
			}
			x.play(func(m *member) {
				if m.me == culprit {
					m.awaitAllGiven(idOf(7))
					if err := giveUp(m, idOf(7)); err != nil {
						t.Errorf("the culprit: %v", err)
					}
				} else {
					check(m, "write", m.write(idOf(7), data[m.me], all(1000)))
					again := m.write(idOf(7), data[m.me], all(1000))
					for errors.Is(again, ErrInvalid) { // its own collector has not heard yet
						runtime.Gosched()
						again = m.write(idOf(7), data[m.me], all(1000))
					}
					check(m, "once more", again)
				}
				if err := m.write(idOf(8), data[m.me], all(500)); err != nil {
					t.Errorf("rank %d: next version: %v", m.me, err)
				}
			})
			x.requireNoParity(idOf(7), 0, 1, 2, 3)
			x.requireProtected(idOf(8), data)
		})
	}
}

// A member aborts while the others are in the middle: whatever they get, it is an
// error, it comes, and nothing is left.
func TestAbortInTheMiddle(t *testing.T) {
	x := newTrial(t, 5, 2)
	x.play(func(m *member) {
		w, err := m.scheme.Create(m.ctx, idOf(1), m.part(m.me))
		for i := 0; err == nil; i++ {
			if m.me == 2 && i == 100 {
				break
			}
			_, err = w.Write(make([]byte, 1000))
		}
		if m.me == 2 {
			if err := w.Abort(); err != nil {
				t.Error(err)
			}
			return
		}
		var holder *HolderError
		if !errors.As(err, &holder) {
			t.Errorf("rank %d: %v", m.me, err)
		}
		if w != nil {
			_ = w.Abort()
		}
	})
	x.requireNoParity(idOf(1), ranksOf(5)...)
}

// A member dies at some moment: the others get an error, and the parity of what
// it had given before is there.
func TestMemberDies(t *testing.T) {
	const dead = 2
	id := idOf(3)
	for name, die := range map[string]func(m *member, data []byte){
		"before": func(m *member, data []byte) { m.f.Die() },
		"when the others have given all": func(m *member, data []byte) {
			m.awaitAllGiven(id)
			m.f.Die()
		},
		"in the middle": func(m *member, data []byte) {
			w, err := m.scheme.Create(m.ctx, id, m.part(m.me))
			if err == nil {
				_, err = w.Write(data[:len(data)/2])
			}
			if err != nil {
				m.t.Errorf("rank %d: %v", m.me, err)
			}
			m.f.Die()
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := testseed.Rand(t)
			x := newTrial(t, 4, 1)
			data := [][]byte{bytesOf(rng, 50_000), bytesOf(rng, 1), nil, bytesOf(rng, 30_000)}
			data[dead] = bytesOf(rng, 40_000)
			x.play(func(m *member) {
				if m.me == dead {
					m.keep(id, data[m.me])
					die(m, data[m.me])
				}
				err := m.write(id, data[m.me], all(1000))
				var holder *HolderError
				if !isGivenUp(err) && (!errors.As(err, &holder) || !errors.Is(err, comm.ErrProcFailed)) {
					t.Errorf("rank %d: %v", m.me, err)
				}
				err = m.write(idOf(4), data[m.me], all(1000))
				if !errors.Is(err, comm.ErrProcFailed) && !isGivenUp(err) {
					t.Errorf("rank %d: next version: %v", m.me, err)
				}
			})
			x.requireNoParity(id, 0, 1, 3)
		})
	}
}

// A member that dies after it has given all is protected by the others.
func TestMemberDiesWhenItHasGivenAll(t *testing.T) {
	const dead = 2
	id := idOf(3)
	rng := testseed.Rand(t)
	x := newTrial(t, 4, 1)
	var data [][]byte // so little that nobody waits before its commit
	for _, n := range []int{4000, 1, 5500, 0} {
		data = append(data, bytesOf(rng, n))
	}
	given := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(3)
	go func() { waiting.Wait(); close(given) }()
	x.play(func(m *member) {
		m.keep(id, data[m.me])
		w, err := m.scheme.Create(m.ctx, id, m.part(m.me))
		if err == nil {
			_, err = w.Write(data[m.me])
		}
		if err != nil {
			t.Errorf("rank %d: %v", m.me, err)
			return
		}
		if m.me != dead {
			// The others commit only when it is gone: its own commit waits.
			m.awaitGiven(id, dead)
			waiting.Done()
			<-given
			m.f.Kill(dead)
		}
		err = w.Commit()
		if m.me != dead && !errors.Is(err, comm.ErrProcFailed) {
			t.Errorf("rank %d: %v", m.me, err)
		}
		if m.me == dead {
			m.f.Die()
		}
	})
	var part strings.Builder
	require.NoError(t, RebuildPart(t.Context(), id, x.part(dead), x.without(dead), &part))
	require.Equal(t, string(data[dead]), part.String())
}

func (m *member) awaitGiven(id storage.ID, from int) {
	require.Eventually(m.t, func() bool {
		c := m.collecting(id)
		if c == nil {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.givers[from].next == beyond
	}, patience, 1e6)
}

// A node is full, from the beginning or in the middle: the others are told by
// which rank, and the versions after it are protected again.
func TestFullNode(t *testing.T) {
	const full = 1
	for _, room := range []int{0, 10_000} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			rng := testseed.Rand(t)
			x := newTrial(t, 4, 1)
			var written atomic.Int64
			var armed atomic.Bool
			armed.Store(true)
			x.disks[full] = vfs.WithErrors(x.disks[full], func(op vfs.Op) error {
				parity := strings.Contains(op.Path, "parity-")
				if op.Kind == vfs.OpWrite && parity && armed.Load() && written.Add(op.Size) > int64(room) {
					return syscall.ENOSPC
				}
				return nil
			})
			x.mount()
			var data [][]byte
			for range 4 {
				data = append(data, bytesOf(rng, 90_000))
			}
			var gate sync.WaitGroup
			gate.Add(4)
			x.play(func(m *member) {
				err := m.write(idOf(1), data[m.me], all(1000))
				var holder *HolderError
				var giver *GiverError
				switch {
				case err == nil && m.me == full: // its part is with the others
				case err == nil:
					t.Errorf("rank %d: no error", m.me)
				case !errors.As(err, &holder):
					t.Errorf("rank %d: %v", m.me, err)
				case m.me != full && !errors.As(err, &giver) && (holder.Rank != full || !errors.Is(err, syscall.ENOSPC)):
					t.Errorf("rank %d: %v", m.me, err)
				}
				gate.Done()
				gate.Wait()
				armed.Store(false)
				if err := m.write(idOf(2), data[m.me], all(1000)); err != nil {
					t.Errorf("rank %d: next version: %v", m.me, err)
				}
			})
			x.requireNoParity(idOf(1), full)
			x.requireProtected(idOf(2), data)
		})
	}
}

// A scheme that is closed tells the others, before and after they come.
func TestCloseTellsTheOthers(t *testing.T) {
	x := newTrial(t, 3, 1)
	x.play(func(m *member) {
		if m.me == 1 {
			m.awaitGiven(idOf(1), 0)
			if err := m.scheme.Close(m.ctx); err != nil {
				t.Error(err)
			}
			_, err := m.scheme.Create(m.ctx, idOf(1), m.part(m.me))
			require.Error(t, err)
			require.ErrorIs(t, m.scheme.Skip(m.ctx, idOf(9), m.part(m.me)), exchange.ErrClosed)
			return
		}
		for v := range 2 {
			if err := m.write(idOf(uint64(v+1)), make([]byte, 3000), all(1000)); !errors.Is(err, exchange.ErrClosed) && !isGivenUp(err) {
				t.Errorf("rank %d: version %d: %v", m.me, v+1, err)
			}
		}
	})
}

func isGivenUp(err error) bool {
	var giver *GiverError
	return errors.As(err, &giver)
}

// Close waits for parity that others still give to, but not for ever.
func TestCloseWaits(t *testing.T) {
	rng := testseed.Rand(t)
	x := newTrial(t, 3, 1)
	data := [][]byte{bytesOf(rng, 5000), bytesOf(rng, 5000), bytesOf(rng, 5000)}
	closing := make(chan struct{})
	x.play(func(m *member) {
		if m.me == 2 {
			<-closing
		}
		w, err := m.scheme.Create(m.ctx, idOf(1), m.part(m.me))
		m.keep(idOf(1), data[m.me])
		if err == nil {
			_, err = w.Write(data[m.me])
		}
		committed := make(chan error, 1)
		go func() { committed <- w.Commit() }()
		if m.me == 0 {
			// Its part is with the others, theirs is not here.
			c := m.collecting(idOf(1))
			require.Eventually(t, c.ownGiven, patience, 1e6)
			close(closing)
			if err := m.scheme.Close(m.ctx); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(err, <-committed); err != nil {
			t.Errorf("rank %d: %v", m.me, err)
		}
	})
	x.requireProtected(idOf(1), data)

	y := newTrial(t, 2, 1)
	ended, over := make(chan struct{}), make(chan struct{})
	y.play(func(m *member) {
		if m.me == 1 {
			<-ended // it never gives anything
			close(over)
			return
		}
		ctx, cancel := context.WithCancel(m.ctx)
		w, err := m.scheme.Create(ctx, idOf(1), m.part(0))
		if err != nil {
			t.Error(err)
		}
		committed := make(chan error, 1)
		go func() { committed <- w.Commit() }()
		require.Eventually(t, m.collecting(idOf(1)).ownGiven, patience, 1e6)
		cancel()
		if err := <-committed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := m.scheme.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(ended)
		<-over
	})
}
