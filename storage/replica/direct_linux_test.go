package replica_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// segments counts the mappings of shared memory that this process has, and the descriptors.
func segments() (mapped, open int) {
	maps, _ := os.ReadFile("/proc/self/maps")
	mapped = strings.Count(string(maps), "memfd:craft-memory")
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, f := range files {
		if name, err := os.Readlink(f); err == nil && strings.Contains(name, "memfd:craft-memory") { // else it is closed
			open++
		}
	}
	return mapped, open
}

func noSegments(t *testing.T) {
	mapped, open := segments()
	require.Zero(t, mapped)
	require.Zero(t, open)
}

// TestDirect: what is written to the memory of others comes back, of blocks of any sizes, also where some
// ranks do not take part and where memory cannot be opened or written to, each time or sometimes. Nothing is sent
// that was written.
func TestDirect(t *testing.T) {
	replica.Apart(t)
	rng := testseed.Rand(t)
	var attempts atomic.Int64
	every := int64(0) // attempt to open memory fails, in turn with writing to it
	replica.Unreachable(t, func() (open, write bool) {
		n := attempts.Add(1)
		fails := every > 0 && n%every == 0
		return fails && n/every%2 == 0, fails
	})
	for round := range 60 {
		ranks := 2 + rng.IntN(7)
		sh, o := draw(rng, ranks), drawOptions(rng, 1+rng.IntN(min(ranks, 4)))
		mixed := round%3 == 1
		every = []int64{0, 1, 2, 5}[rng.IntN(4)]
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var written, wanted atomic.Int64
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			c, o := r.Comm(), o
			o.NoDirect = mixed && c.Rank()%2 == 0
			s, err := replica.Open(ctx, c, "test", o)
			if err != nil {
				return err
			}
			for version := 1; version <= 4; version++ {
				b := sh.blocks(version, ranks, int(c.Rank()))
				if err := s.Submit(ctx, b); err != nil {
					return err
				}
				if err := loadEverything(ctx, s, c, sh, version); err != nil {
					return err
				}
			}
			copies, good := s.Intact()
			if copies != good {
				return fmt.Errorf("%d of %d copies are intact", good, copies)
			}
			st := s.Stats()
			written.Add(st.Submit.BytesDirect)
			wanted.Add(4 * s.Remote())
			if o.NoDirect && st.Submit.BytesDirect > 0 {
				return errors.New("it has written to others although it was not to")
			}
			return nil
		})
		cancel()
		require.NoError(t, err, "%+v %+v, %d ranks, mixed %v, every %d", sh, o, ranks, mixed, every)
		if !mixed && every == 0 {
			require.Equal(t, wanted.Load(), written.Load())
		} else if every == 1 {
			require.Zero(t, written.Load())
		}
		noSegments(t)
	}
}

// TestDirectFailures: as in TestFailuresAtAnyMoment, where ranks that are taken for failed go on to write.
func TestDirectFailures(t *testing.T) {
	replica.Apart(t)
	failuresAtAnyMoment(t)
	noSegments(t)
}

// TestDirectFlippedBits: as in TestFlippedBits, where who reads a copy in the memory of its holder finds out, and tells.
func TestDirectFlippedBits(t *testing.T) {
	replica.Apart(t)
	flippedBits(t)
	noSegments(t)
}

// TestDirectDamageIsTold: holders learn of damage that those have found who read it.
func TestDirectDamageIsTold(t *testing.T) {
	replica.Apart(t)
	const ranks = 4
	sh := shape{n: 40, size: 64}
	o := replica.Options{Copies: 2, RangeBytes: 64 * 5, Consecutive: true, Log: quiet}
	inJob(t, ranks, sh, o, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		c := r.Comm()
		holds := slices.Contains(s.Holders(7), c.Rank())
		s.Spoil(7)
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		var wanted []replica.Range
		if !holds {
			wanted = []replica.Range{{Lo: 5, Hi: 10}}
		}
		_, err := s.Load(ctx, nil, wanted...)
		if errors.Is(err, replica.ErrLost) == holds {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		if damaged := s.Stats().Damaged; damaged > 0 != holds {
			return fmt.Errorf("rank %d, has a copy: %v: %d damaged", c.Rank(), holds, damaged)
		}
		return nil
	})
}

// TestDirectSumsAreTheSubmitters: what changes in a copy before its holder is told of its sum is found, and not taken for
// what was submitted.
func TestDirectSumsAreTheSubmitters(t *testing.T) {
	replica.Apart(t)
	sh := shape{n: 20, size: 1000, cuts: []int64{0, 20, 20}} // rank 0 submits all
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stores [2]*replica.Store
	var spoiled atomic.Int64
	require.NoError(t, new(afttest.Cluster).Run(ctx, 2, func(ctx context.Context, r *afttest.Rank) error {
		c := r.Comm()
		s, err := replica.Open(ctx, c, "test", replica.Options{RangeBytes: 1000, Log: quiet})
		if err != nil {
			return err
		}
		stores[c.Rank()] = s
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			defer r.Session().Observe(&comm.Observer{Message: func(m comm.Message) {
				if m.Sent && replica.AreSums(m) { // the copies are there
					spoiled.Add(int64(stores[1].SpoilShared()))
				}
			}})()
		}
		if err := s.Submit(ctx, sh.blocks(1, 2, int(c.Rank()))); err != nil {
			return err
		}
		copies, good := s.Intact()
		if n := spoiled.Load(); n != 1 || copies != 20 || copies-good != int(c.Rank()) {
			return fmt.Errorf("rank %d: %d of %d copies are good, %d were spoiled", c.Rank(), good, copies, n)
		}
		return loadVersion(ctx, s, sh, 1)
	}))
	noSegments(t)
}

// TestDirectLoads: what is loaded from others is read in their memory. Messages carry no more than what there is to say
// about each piece.
func TestDirectLoads(t *testing.T) {
	replica.Apart(t)
	const ranks = 4
	sh := shape{n: 4000, size: 100}
	inJob(t, ranks, sh, replica.Options{Copies: 2, RangeBytes: 10_000, Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		for load := range 3 {
			before := s.Stats().Load
			if err := loadEverything(ctx, s, r.Comm(), sh, 1); err != nil {
				return err
			}
			after := s.Stats().Load
			read, sent := after.BytesDirect-before.BytesDirect, after.BytesSent-before.BytesSent
			if read == 0 || sent > read/50 {
				return fmt.Errorf("load %d: %d bytes were read, %d sent", load, read, sent)
			}
		}
		return nil
	})
	noSegments(t)
}

// TestDirectKeepsLittle: however many versions of whatever sizes there were, a rank has mapped the memory of the last
// ones only, and holds the descriptors of its own.
func TestDirectKeepsLittle(t *testing.T) {
	replica.Apart(t)
	const ranks = 4
	versions := 100 // some of each size, by each rank
	if testing.Short() {
		versions = 40
	}
	err := new(afttest.Cluster).Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		c := r.Comm()
		s, err := replica.Open(ctx, c, "test", replica.Options{RangeBytes: 1000, Log: quiet})
		if err != nil {
			return err
		}
		for version := 1; version <= versions; version++ {
			sh := shape{n: 1000 * int64(1+version/7%5), size: 1000, by: version / 7 % 2}
			if err := s.Submit(ctx, sh.blocks(0, ranks, int(c.Rank()))); err != nil {
				return err
			}
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			mapped, open := segments()
			if mapped > ranks*2*ranks || open > ranks*2*ranks {
				return fmt.Errorf("after version %d, %d mappings and %d descriptors", version, mapped, open)
			}
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
		}
		if st := s.Stats(); st.Submit.BytesDirect == 0 {
			return fmt.Errorf("nothing was written: %+v", st)
		}
		return nil
	})
	require.NoError(t, err)
	noSegments(t)
}

// TestDirectWithoutSegments: a rank that has got no memory which others can map has its copies sent, and once it gets
// some, written.
func TestDirectWithoutSegments(t *testing.T) {
	replica.Apart(t)
	const ranks = 3
	var none atomic.Bool
	replica.WithoutSegments(t, none.Load)
	err := new(afttest.Cluster).Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		c := r.Comm()
		s, err := replica.Open(ctx, c, "test", replica.Options{Log: quiet})
		if err != nil {
			return err
		}
		for version := 1; version <= 4; version++ {
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			none.Store(version%2 == 0)
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			sh := shape{n: 3000 * int64(version), size: 1000} // no memory of the one before can be used again
			before := s.Stats().Submit.BytesDirect
			if err := s.Submit(ctx, sh.blocks(version, ranks, int(c.Rank()))); err != nil {
				return err
			}
			if wrote := s.Stats().Submit.BytesDirect > before; wrote != (version%2 == 1) {
				return fmt.Errorf("version %d, written: %v", version, wrote)
			}
			if err := loadEverything(ctx, s, c, sh, version); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	noSegments(t)
}
