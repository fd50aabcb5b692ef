package pipe

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// atOnce calls both functions at the same time, again and again, and check after
// each time.
func atOnce(one, other func(), check func()) (rounds uint64) {
	var begun, ended atomic.Uint64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := uint64(1); ; round++ {
			reach(&begun, round)
			if begun.Load() > round { // there is none of this number
				return
			}
			pause(&begun, round/16)
			other()
			ended.Store(round)
		}
	}()
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		rounds++
		begun.Store(rounds)
		pause(&begun, rounds)
		one()
		reach(&ended, rounds)
		check()
	}
	begun.Add(2)
	<-done
	return rounds
}

// reach waits for a counter without sleeping, so that both go on together.
func reach(counter *atomic.Uint64, value uint64) {
	for i := 1; counter.Load() < value; i++ {
		if i%1000 == 0 {
			runtime.Gosched()
		}
	}
}

// pause lasts for a moment, another one in each round: the two need not be equally
// fast.
func pause(at *atomic.Uint64, round uint64) {
	for range round % 16 {
		_ = at.Load()
	}
}

// TestBellIsNeverMissed: who goes to sleep while the other side moves its index
// sees that, or is rung for. Neither may look before its own word is out.
// Mistakes show under the race detector, and without it on some machines only.
func TestBellIsNeverMissed(t *testing.T) {
	cfg := config(t, 1)
	cfg.Ring = minRing
	missed, asleep := 0, false
	count := func(word *atomic.Uint32, sock *socket) {
		if asleep && word.Load() != 0 {
			missed++
		}
		word.Store(0)
		_, _ = sock.tryRead(make([]byte, 10))
	}

	w, r := pair(t, cfg, "unix")
	rounds := atOnce(
		func() { asleep = r.Sleep() },
		func() { _, _ = w.TryWrite(nil, []byte{1}) },
		func() {
			count(&r.ring.board.consumerSleeps, r.sock)
			_, _ = r.Peek(1)
			r.Discard(1)
		})
	require.Zero(t, missed, "bells for the reader in %d rounds", rounds)

	w, r = pair(t, cfg, "unix")
	_, err := w.TryWrite(nil, make([]byte, minRing/2+1))
	require.NoError(t, err)
	_, err = r.Peek(minRing / 2)
	require.NoError(t, err)
	rounds = atOnce(
		func() { asleep = w.Sleep() },
		func() { r.Discard(1) },
		func() {
			count(&w.ring.board.producerSleeps, w.sock)
			_, _ = w.TryWrite(nil, []byte{1})
			_, _ = r.Peek(minRing)
		})
	require.Zero(t, missed, "bells for the writer in %d rounds", rounds)
}
