package checkpoint

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/placement"
)

// damagedRun is a run in which a bit of what is in memory of rank 1's part is flipped, in its own memory, in that
// of the other one that has it, or in both, before another rank dies.
func damagedRun(t *testing.T, rng *rand.Rand, levels string, where ...storage.Kind) (*memoryWorld, error) {
	w := newMemoryWorld(t, 4, 4, levels, inMode(modes[rng.IntN(3)]))
	w.t.Logf("%s, %v", levels, where)
	if rng.IntN(2) == 0 {
		w.options = append(w.options, WithDelta(3))
	}
	if rng.IntN(2) == 0 {
		w.recovery = comm.Shrinking
	}
	bit := rng.Int64()
	w.step = func(p *memoryProgram) error {
		if p.epoch() > 0 || p.iter != 6 {
			return nil
		}
		if err := errors.Join(p.cp.Wait(t.Context()), comm.Barrier(t.Context(), p.c)); err != nil {
			return err
		}
		for _, kind := range where {
			placement.DamageMemory(p.cp.placement, 1, kind, bit)
		}
		if err := comm.Barrier(t.Context(), p.c); err != nil {
			return err
		}
		if p.c.Rank() == 0 {
			p.rank.Die()
		}
		return nil
	}
	return w, w.job()
}

// Bits that flip in memory are found when it is read. Another copy is taken and, where there is none, the next
// level; wrong values never are.
func TestMemoryFlippedBits(t *testing.T) {
	rng := testseed.Rand(t)
	own, copied := storage.KindPart, storage.KindCopy
	rounds, found := 0, 0 // in another copy: of one that nobody reads, nobody finds out
	for until := testSeconds(); ; {
		rounds++
		for _, where := range [][]storage.Kind{{own}, {copied}} {
			w, err := damagedRun(t, rng, "mem:1,partner:4", where...)
			require.NoError(t, err, "%v: %s", where, w.log.String())
			require.Equal(t, []int{0, 6}, w.restarts, "%v: %s", where, w.log.String())
			if strings.Contains(w.log.String(), "bytes of a part are taken from another place") {
				found++
			}
		}
		w, err := damagedRun(t, rng, "mem:1,partner:4", own, copied)
		require.NoError(t, err, w.log.String())
		require.Len(t, w.restarts, 2)
		require.Contains(t, []int{4, 6}, w.restarts[1], w.log.String()) // not each bit means anything
		if w, err = damagedRun(t, rng, "mem", own, copied); err != nil {
			require.ErrorIs(t, err, ErrNoUsableVersion, w.log.String())
		}
		if rounds > 3 && !time.Now().Before(until) {
			break
		}
	}
	require.Positive(t, found)
	t.Logf("%d rounds, %d times another copy was taken", rounds, found)
}
