package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
)

// TestRandomTrouble: all ranks write to and read from each other at once, while
// contexts end, handlers fail, ranks die or the communicator is revoked. Nobody
// hangs, nothing is held afterwards (play), what is stored is whole, and what a
// writer was told is stored is.
func TestRandomTrouble(t *testing.T) {
	first := testseed.Seed(t)
	for round := range uint64(12) {
		t.Run(fmt.Sprint(round), func(t *testing.T) { trouble(t, first+round) })
	}
}

func trouble(t *testing.T, seed uint64) {
	const n = 4
	dice := rand.New(rand.NewPCG(seed, 0))
	opts := []Options{small, large}[dice.IntN(2)]
	victim, revoke := -1, false
	switch dice.IntN(3) {
	case 0:
		victim = dice.IntN(n)
	case 1:
		revoke = true
	}
	delay := time.Duration(dice.IntN(20)) * time.Millisecond
	memories := make([]*memory, n)
	for i := range memories {
		memories[i] = failingMemory(seed + uint64(i))
	}
	var mu sync.Mutex
	promised := make(map[string]comm.Rank)
	playOn(t, n, opts, memories, func(r *trial) {
		me := r.c.Rank()
		var all sync.WaitGroup
		for k := range 6 {
			all.Go(func() {
				own := rand.New(rand.NewPCG(seed, 1+uint64(me)*10+uint64(k)))
				for i := range 8 {
					name := fmt.Sprintf("%d/%d/%d", me, k, i)
					to := comm.Rank(own.IntN(n))
					if r.disturbed(own, to, name, opts) {
						mu.Lock()
						promised[name] = to
						mu.Unlock()
					}
				}
			})
		}
		if int(me) == victim || revoke && me == 0 {
			time.Sleep(delay) // at any moment of what goes on
			if revoke {
				require.NoError(r.t, r.c.Revoke())
			} else {
				r.f.Kill(comm.OriginalRank(me))
			}
		}
		all.Wait()
	})
	for name, to := range promised {
		_, there := memories[to].get(name)
		require.True(t, there, "seed %d: %q was stored at rank %d", seed, name, to)
	}
	for _, s := range memories {
		for name, data := range s.parts {
			require.True(t, bytes.Equal(partOf(name, len(data)), data), "seed %d: %q", seed, name)
			require.Equal(t, lengthOf(name, opts), len(data), "seed %d: %q is not whole", seed, name)
		}
	}
}

// failingMemory has errors now and then.
func failingMemory(seed uint64) *memory {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 99))
	now := func(every int) error {
		mu.Lock()
		defer mu.Unlock()
		if dice.IntN(every) == 0 {
			return syscall.ENOSPC
		}
		return nil
	}
	return &memory{
		create: func(context.Context, string) error { return now(10) },
		open:   func(context.Context, string) error { return now(10) },
		write:  func(string, int) error { return now(60) },
		commit: func(string) error { return now(10) },
		read:   func(string, int64) error { return now(60) },
	}
}

func lengthOf(name string, opts Options) int {
	sum := 0
	for _, c := range []byte(name) {
		sum = sum*31 + int(c)
	}
	return sum % (8 * opts.Block)
}

func partOf(name string, n int) []byte {
	return bytes.Repeat([]byte(name), n/len(name)+1)[:n]
}

// disturbed writes a part, reads it back, or gives up somewhere. It reports whether
// the part was promised to be stored.
func (r *trial) disturbed(dice *rand.Rand, to comm.Rank, name string, opts Options) bool {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	if dice.IntN(4) == 0 {
		timer := time.AfterFunc(time.Duration(dice.IntN(2000))*time.Microsecond, func() { cancel(errEnough) })
		defer timer.Stop()
	}
	data := partOf(name, lengthOf(name, opts))
	w, err := r.s.Create(ctx, to, name)
	if err != nil {
		return false
	}
	for rest := data; len(rest) > 0 && err == nil; {
		k := min(len(rest), 1+dice.IntN(2*opts.Block))
		_, err = w.Write(rest[:k])
		rest = rest[k:]
		if dice.IntN(40) == 0 {
			err = errEnough
		}
	}
	if err != nil {
		_ = w.Abort()
		return false
	}
	if w.Commit() != nil {
		return false
	}
	read, err := r.s.Open(ctx, to, name)
	if err != nil {
		return true
	}
	got := make([]byte, len(data))
	if n, err := read.ReadAt(got, 0); n == len(data) && !bytes.Equal(got, data) {
		r.t.Errorf("%q at rank %d: wrong bytes, %v", name, to, err)
	}
	if err := read.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		r.t.Errorf("close: %v", err)
	}
	return true
}
