package replica_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestOpenRefuses: options that cannot be, or differ, are an error on all ranks.
func TestOpenRefuses(t *testing.T) {
	for name, bad := range map[string]struct {
		nodes int
		o     func(rank comm.Rank, o *replica.Options)
		is    error
		says  string // on rank 1
	}{
		"copies":       {4, func(_ comm.Rank, o *replica.Options) { o.Copies = 5 }, replica.ErrOptions, "5 copies of each block on 4 ranks: allowed are 1 to 4 (Options.Copies)"},
		"nodes":        {2, func(_ comm.Rank, o *replica.Options) { o.Copies = 3 }, replica.ErrTooFewNodes, "3 copies of each block on 2 nodes: allowed are 1 to 2, or Options.SharedNodes"},
		"negative":     {4, func(r comm.Rank, o *replica.Options) { o.Copies = -int(r % 2) }, replica.ErrOptions, "Copies is -1"},
		"other copies": {4, func(r comm.Rank, o *replica.Options) { o.Copies = 1 + int(r%2) }, replica.ErrOptions, "those of rank 1 differ from those of rank 0"},
		"probe":        {4, func(_ comm.Rank, o *replica.Options) { o.Probe = 7 }, replica.ErrOptions, "Probe is Probe(7): allowed are A and B"},
		"limit":        {4, func(_ comm.Rank, o *replica.Options) { o.Limit = -1 }, replica.ErrOptions, "Limit is -1"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := (&afttest.Cluster{Nodes: bad.nodes}).Run(ctx, 4, func(ctx context.Context, r *afttest.Rank) error {
			o := replica.Options{Log: quiet}
			bad.o(r.Comm().Rank(), &o)
			_, err := replica.Open(ctx, r.Comm(), name, o)
			if !errors.Is(err, bad.is) || r.Comm().Rank() == 1 && !strings.Contains(err.Error(), bad.says) {
				return fmt.Errorf("%s: %w", name, err)
			}
			if _, err = replica.Open(ctx, r.Comm(), name, replica.Options{Log: quiet}); err != nil {
				return err
			}
			_, err = replica.Open(ctx, r.Comm(), name, replica.Options{Copies: 1, Log: quiet})
			if !errors.Is(err, replica.ErrOptions) || !strings.Contains(err.Error(), "was opened with other ones before") {
				return fmt.Errorf("%s: other options than before: %w", name, err)
			}
			return nil
		})
		cancel()
		require.NoError(t, err)
	}
}

// TestLimit: more memory than the limit is an error before any is taken, on all ranks, and the version before stays.
func TestLimit(t *testing.T) {
	const ranks = 4
	sh := shape{n: 400, size: 1000}
	for _, limited := range []struct {
		limit    int64
		versions int // that fit
	}{{150_000, 0}, {250_000, 1}, {450_000, 3}} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			me := int(r.Comm().Rank())
			o := replica.Options{Log: quiet, RangeBytes: 1000}
			if me == 2 {
				o.Limit = limited.limit
			}
			s, err := replica.Open(ctx, r.Comm(), "test", o)
			if err != nil {
				return err
			}
			for version := 1; version <= 3; version++ {
				err := s.Submit(ctx, sh.blocks(version, ranks, me))
				if version <= limited.versions && err != nil {
					return err
				}
				if version > limited.versions && !errors.Is(err, replica.ErrMemory) {
					return fmt.Errorf("version %d with a limit of %d: %w", version, limited.limit, err)
				}
				if err := loadVersion(ctx, s, sh, min(version, limited.versions)); err != nil {
					return err
				}
			}
			if st := s.Stats(); me == 2 && st.MemoryPeak > limited.limit {
				return fmt.Errorf("%d bytes with a limit of %d", st.MemoryPeak, limited.limit)
			}
			return nil
		})
		cancel()
		require.NoError(t, err)
	}
}

func loadVersion(ctx context.Context, s *replica.Store, sh shape, version int) error {
	if version == 0 {
		if _, err := s.Load(ctx, nil); !errors.Is(err, replica.ErrEmpty) {
			return fmt.Errorf("an empty store: %w", err)
		}
		return nil
	}
	all := []replica.Range{{Lo: 0, Hi: sh.n}}
	got, err := s.Load(ctx, nil, all...)
	return errors.Join(err, sh.check(version, got, all, nil))
}

// TestRequests: what is started and not waited for is carried out in its order.
func TestRequests(t *testing.T) {
	const ranks = 4
	sh := shape{n: 100, size: 100}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
		me := int(r.Comm().Rank())
		s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet})
		if err != nil {
			return err
		}
		all := []replica.Range{{Lo: 0, Hi: sh.n}}
		var loads []*replica.Loading
		for version := 1; version <= 3; version++ {
			s.StartSubmit(ctx, sh.blocks(version, ranks, me))
			loads = append(loads, s.StartLoad(ctx, nil, all...))
		}
		for i, l := range loads {
			got, err := l.Wait(ctx)
			if err := errors.Join(err, sh.check(i+1, got, all, nil)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestLoadAllAsksNobody: where all ranks know what everybody needs nobody is asked; with Load holders are, once.
func TestLoadAllAsksNobody(t *testing.T) {
	const ranks = 4
	sh := shape{n: 100, size: 100}
	lists := make([][]replica.Range, ranks)
	for i := range lists {
		lists[i] = []replica.Range{replica.Even(sh.n, ranks, (i+1)%ranks)}
	}
	inJob(t, ranks, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		var asked atomic.Int64
		defer r.Session().Observe(&comm.Observer{Collective: func(c comm.Collective) func(error) {
			if c.Op == "SparseAlltoallv" {
				asked.Add(1)
			}
			return nil
		}})()
		mine := lists[r.Comm().Rank()]
		got, err := s.LoadAll(ctx, nil, lists)
		if err = errors.Join(err, sh.check(1, got, mine, nil)); err != nil || asked.Load() != 0 {
			return fmt.Errorf("LoadAll has asked %d times: %w", asked.Load(), err)
		}
		got, err = s.Load(ctx, nil, mine...)
		if err = errors.Join(err, sh.check(1, got, mine, nil)); err != nil || asked.Load() != 1 {
			return fmt.Errorf("Load has asked %d times: %w", asked.Load(), err)
		}
		return nil
	})
}

// TestContextEnds: a call that its context ends returns why, on each rank; the store is of use again when
// all have opened it, with a version in full.
func TestContextEnds(t *testing.T) {
	const ranks = 4
	sh := shape{n: 100, size: 100}
	inJob(t, ranks, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		me := int(r.Comm().Rank())
		why := errors.New("enough")
		ending, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if me == 0 { // does not take part
			if err := comm.Barrier(ctx, r.Comm()); err != nil {
				return err
			}
		} else {
			request := s.StartSubmit(ending, sh.blocks(2, ranks, me))
			if err := comm.Barrier(ctx, r.Comm()); err != nil {
				return err
			}
			cancel(why)
			if err := request.Wait(ctx); !errors.Is(err, why) {
				return fmt.Errorf("ended by %w", err)
			}
			if _, err := s.Load(ctx, nil); !errors.Is(err, replica.ErrUnbound) {
				return fmt.Errorf("a call after that: %w", err)
			}
		}
		s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Log: quiet})
		if err != nil {
			return err
		}
		if err := loadVersion(ctx, s, sh, 1); err != nil {
			return err
		}
		if err := s.Submit(ctx, sh.blocks(2, ranks, me)); err != nil {
			return err
		}
		return loadVersion(ctx, s, sh, 2)
	})
}

// TestOneRank has its blocks without anybody else, and after its store was closed nothing.
func TestOneRank(t *testing.T) {
	c := comm.Self()
	s, err := replica.Open(t.Context(), c, "test", replica.Options{Copies: 1, Log: quiet})
	require.NoError(t, err)
	sh := shape{n: 10, size: 0}
	require.NoError(t, s.Submit(t.Context(), sh.blocks(1, 1, 0)))
	require.NoError(t, loadVersion(t.Context(), s, sh, 1))
	_, err = s.Load(t.Context(), nil, replica.Range{Lo: 5, Hi: 11})
	require.ErrorIs(t, err, replica.ErrRange)
	require.ErrorContains(t, err, "5 to 10: there are the blocks 0 to 9")
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Submit(t.Context(), sh.blocks(2, 1, 0)), replica.ErrClosed)
}
