package aft_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// mirror keeps the value of this rank, and that of the rank before it.
type mirror struct {
	own, left int64
	comm      *comm.Comm // lasting; of the ranks of the last collective call
	stale     bool       // a recovery has changed who there is
	rebinds   []int      // epochs
	closed    bool
}

type mirrorKey struct{}

func mirrorOf(c *comm.Comm) (*mirror, error) {
	return comm.Keep(c.Session(), mirrorKey{}, func() (*mirror, error) { return &mirror{own: -1, left: -1, stale: true}, nil })
}

func (m *mirror) Rebind(_ *comm.Comm, change comm.Change) error {
	m.rebinds = append(m.rebinds, change.Epoch)
	m.stale = true
	return nil
}

func (m *mirror) Close() error {
	m.closed = true
	return nil
}

const mirrorTag = 7

// meet is the first collective call after a recovery: who has lost its value gets it back from
// the rank behind it.
func (m *mirror) meet(ctx context.Context, c *comm.Comm) error {
	if !m.stale {
		return nil
	}
	if m.comm != nil {
		m.comm.Free()
	}
	var err error
	if m.comm, err = c.Dup(ctx, comm.Lasting(), comm.WithName("mirror")); err != nil {
		return err
	}
	owns, err := comm.Allgatherv(ctx, m.comm, []int64{m.own, m.left})
	if err != nil {
		return err
	}
	next := owns[(int(c.Rank())+1)%c.Size()]
	if m.own < 0 {
		m.own = next[1]
	}
	// Some were a step ahead when the others failed.
	if m.own, err = comm.AllreduceOne(ctx, m.comm, m.own, comm.Min); err != nil {
		return err
	}
	m.left, m.stale = m.own, false
	return nil
}

// store mirrors a value.
func (m *mirror) store(ctx context.Context, v int64) error {
	m.own = v
	n := comm.Rank(m.comm.Size())
	got := []int64{0}
	me := m.comm.Rank()
	_, _, err := comm.Sendrecv(ctx, m.comm, (me+1)%n, mirrorTag, []int64{v}, (me+n-1)%n, mirrorTag, got)
	if err == nil {
		m.left = got[0]
	}
	return err
}

// TestKeptThroughRecoveries: each rank counts in memory alone, with failures at every moment: in
// the middle of a step, before the first collective call of an attempt, of two in a row.
func TestKeptThroughRecoveries(t *testing.T) {
	var closed atomic.Int32
	cluster := &afttest.Cluster{Nodes: 2, Spares: 2}
	require.NoError(t, cluster.Run(t.Context(), 6, func(ctx context.Context, r *afttest.Rank) error {
		var m *mirror
		defer func() {
			if m != nil && !m.closed { // the session closes it behind this
				closed.Add(1)
			}
		}()
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			var err error
			if m, err = mirrorOf(z.Comm()); err != nil {
				return err
			}
			if z.Epoch() == 1 && z.Original() == 4 {
				r.Die() // between Rebind and the first collective call
			}
			if err := m.meet(ctx, z.Comm()); err != nil {
				return err
			}
			if z.Epoch() > 0 && m.own < 4 {
				return fmt.Errorf("rank %d has lost its value: %d", z.Comm().Rank(), m.own)
			}
			for m.own < 20 {
				if err := m.store(ctx, m.own+1); err != nil {
					return err
				}
				// A step is the same for all, or it is not there.
				least, err := comm.AllreduceOne(ctx, z.Comm(), m.own, comm.Min)
				if err != nil {
					return err
				}
				if least != m.own {
					return fmt.Errorf("rank %d is at %d, another one at %d", z.Comm().Rank(), m.own, least)
				}
				switch {
				case m.own == 5 && z.Epoch() == 0 && z.Original() == 2, m.own == 15 && z.Epoch() == 2 && z.Original() == 0:
					r.Die()
				}
			}
			return nil
		}, quiet, aft.WithSpawn(comm.Reuse))
		if err == nil && !r.Replacement() && !slices.Equal(m.rebinds, []int{1, 2, 3}) {
			err = fmt.Errorf("rebinds %v", m.rebinds)
		}
		return err
	}))
	require.EqualValues(t, 6+3, closed.Load(), "those of ranks that died included")
}

// failing is something that cannot be bound again.
type failing struct{ closed bool }

func (f *failing) Rebind(*comm.Comm, comm.Change) error { return errOwn }
func (f *failing) Close() error                         { f.closed = true; return nil }

// TestKeptIsDropped after an error of Rebind, and made anew when somebody asks for it; of
// another type it is an error.
func TestKeptIsDropped(t *testing.T) {
	var made []*failing
	require.NoError(t, aft.Run(t.Context(), func(ctx context.Context, z *aft.Zone) error {
		keep := func() (*failing, error) {
			return comm.Keep(z.Comm().Session(), "x", func() (*failing, error) {
				made = append(made, new(failing))
				return made[len(made)-1], nil
			})
		}
		first, err := keep()
		again, errAgain := keep()
		if err := errors.Join(err, errAgain); err != nil || first != again {
			return fmt.Errorf("made twice: %w", err)
		}
		if _, err := mirrorAs(z, "x"); err == nil {
			return errors.New("of another type")
		}
		if z.Epoch() == 0 {
			return z.Comm().Revoke()
		}
		return nil
	}, aft.WithRanks(1), quiet))
	require.Len(t, made, 2)
	require.True(t, made[0].closed)
	require.True(t, made[1].closed, "at the end")
}

func mirrorAs(z *aft.Zone, key any) (*mirror, error) {
	return comm.Keep(z.Comm().Session(), key, func() (*mirror, error) { return new(mirror), nil })
}
