package replica_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestDirectClose: a holder whose call a context has ended, and which closes its store while another rank is about to
// read there, is not taken for one with other data.
func TestDirectClose(t *testing.T) {
	replica.Apart(t)
	opened, closed, loaded := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	replica.Opened(t, func() {
		opened <- struct{}{}
		<-closed
	})
	sh := shape{n: 40, size: 64}
	asked := []replica.Range{{Lo: 1, Hi: 3}} // rank 0 has them, in a longer range
	for range 3 {
		inJob(t, 2, sh, replica.Options{Copies: 1, Consecutive: true, Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if r.Comm().Rank() == 0 {
				agreeing := make(chan struct{})
				var once sync.Once
				defer r.Session().Observe(&comm.Observer{Collective: func(c comm.Collective) func(error) {
					if c.Op == "Allreduce" {
						once.Do(func() { close(agreeing) })
					}
					return nil
				}})()
				go func() {
					<-opened
					<-agreeing
					time.Sleep(5 * time.Millisecond) // it has said that all is well, if it is not slow
					cancel()
				}()
				_, err := s.Load(ctx, nil)
				if !errors.Is(err, context.Canceled) {
					err = fmt.Errorf("a load that not all take part in: %w", err)
				} else {
					err = s.Close()
				}
				closed <- struct{}{}
				<-loaded
				return err
			}
			defer func() { loaded <- struct{}{} }()
			time.AfterFunc(300*time.Millisecond, cancel) // nobody is there to go on with
			got, err := s.Load(ctx, nil, asked...)
			if err == nil && !bytes.Equal(got.Block(0), sh.content(1, 1)) {
				return errors.New("what is there no more was read as blocks")
			}
			return nil
		})
	}
	noSegments(t)
}

// TestCloseBesideOpen: whichever is first, in the end a store has a communicator, and begins operations, if it is open.
func TestCloseBesideOpen(t *testing.T) {
	for name, closing := range map[string]func(*replica.Store) error{
		"Close":  (*replica.Store).Close,
		"Rebind": func(s *replica.Store) error { return s.Rebind(nil, comm.Change{}) },
	} {
		err := new(afttest.Cluster).Run(t.Context(), 1, func(ctx context.Context, r *afttest.Rank) error {
			open := func() (*replica.Store, error) {
				return replica.Open(ctx, r.Comm(), "test", replica.Options{Copies: 1, Log: quiet})
			}
			s, err := open()
			for round := 0; round < 5000 && err == nil; round++ {
				var both sync.WaitGroup
				both.Go(func() { _, err = open() })
				err2 := closing(s)
				both.Wait()
				if err = errors.Join(err, err2); err == nil {
					err = s.Consistent()
				}
			}
			return err
		})
		require.NoError(t, err, name)
	}
}

// TestDirectReadFailsInARefusedLoad: a rank that cannot open the memory of another one has told it that also when the Load is
// refused, for what some rank has asked for: both expect the same messages later.
func TestDirectReadFailsInARefusedLoad(t *testing.T) {
	replica.Apart(t)
	var fails atomic.Bool
	replica.Unreachable(t, func() (open, write bool) { return fails.Load(), false })
	sh := shape{n: 40, size: 64_000, cuts: []int64{0, 40, 40}}
	inJob(t, 2, sh, replica.Options{Copies: 1, RangeBytes: 64_000, Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		fails.Store(true)
		asked := []replica.Range{{Lo: -1, Hi: -1}, {Lo: 0, Hi: sh.n}}[r.Comm().Rank()]
		if _, err := s.Load(ctx, nil, asked); !errors.Is(err, replica.ErrRange) {
			return fmt.Errorf("a load of what there is not: %w", err)
		}
		fails.Store(false)
		lists := [][]replica.Range{nil, {{Lo: 0, Hi: sh.n}}}
		got, err := s.LoadAll(ctx, nil, lists)
		if err = errors.Join(err, sh.check(1, got, lists[r.Comm().Rank()], nil)); err != nil {
			return err
		}
		sh := sh
		sh.cuts = nil
		if err := s.Submit(ctx, sh.blocks(2, 2, int(r.Comm().Rank()))); err != nil {
			return err
		}
		return loadVersion(ctx, s, sh, 2)
	})
}
