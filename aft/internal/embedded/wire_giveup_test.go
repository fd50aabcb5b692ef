package embedded

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

func TestSendGivenUpBeforeItIsWanted(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		first := a.isend(2, 1, pattern(100_000, 1))
		require.Eventually(t, func() bool { _, m := b.waiting(); return m == 1 }, wireDeadline, time.Millisecond)
		a.wire.cancel(first, errGivenUp)
		_, err := a.wait(first)
		require.ErrorIs(t, err, errGivenUp)
		require.Eventually(t, func() bool { _, m := b.waiting(); return m == 0 }, wireDeadline, time.Millisecond)
		second := a.isend(2, 1, pattern(100_000, 2))
		buf := make([]byte, 100_000)
		b.mustWait(b.irecv(1, 1, buf))
		a.mustWait(second)
		require.Equal(t, pattern(100_000, 2), buf)
		a.wire.cancel(second, errGivenUp) // too late, no effect
	})
}

// TestGivingUpMeetsTheReceive cancels sends while their receives are posted:
// either the message is received, or the receive gets the next one.
func TestGivingUpMeetsTheReceive(t *testing.T) {
	random := testseed.Rand(t)
	onWireBodies(t, func(t *testing.T, a, b *node) {
		won := [2]int{}
		buf := make([]byte, 200_000)
		for i := range uint64(200) {
			// Two receives: their order must survive.
			first := b.irecv(1, 1, buf[:100_000])
			second := b.irecv(1, 1, buf[100_000:])
			pause := random.IntN(60)
			send := a.isend(2, 1, pattern(100_000, 3*i))
			for end := time.Now().Add(time.Duration(pause) * time.Microsecond); time.Now().Before(end); {
				runtime.Gosched()
			}
			a.wire.cancel(send, errGivenUp)
			_, err := a.wait(send)
			next := 3 * i
			if err != nil {
				require.ErrorIs(t, err, errGivenUp)
				next = 3*i + 2
				a.isend(2, 1, pattern(100_000, next))
				won[0]++
			} else {
				won[1]++
			}
			last := a.isend(2, 1, pattern(100_000, 3*i+1))
			b.mustWait(first)
			b.mustWait(second)
			a.mustWait(last)
			require.True(t, bytes.Equal(pattern(100_000, next), buf[:100_000]), "round %d", i)
			require.True(t, bytes.Equal(pattern(100_000, 3*i+1), buf[100_000:]), "round %d", i)
		}
		t.Logf("given up %d times, sent %d times", won[0], won[1])
	})
}

// TestSendGivenUpOnItsWay: the data that is still to be sent is copied, and the
// caller can change its buffer.
func TestSendGivenUpOnItsWay(t *testing.T) {
	random := testseed.Rand(t)
	const length = 32 << 20
	want := pattern(length, 7)
	onWireBodies(t, func(t *testing.T, a, b *node) {
		a.mustWait(a.isend(2, 1, nil))
		b.mustWait(b.irecv(1, 1, nil))
		in := (*b.wire.ins.Load())[0]
		for _, longest := range []int{length, 1 << 20, 10_000} {
			list := cutUp(random, want, longest)
			buf := make([]byte, length)
			recv := b.irecv(1, 1, buf)
			in.mu.Lock() // the test reads in its own steps
			send := a.isendPieces(1, 2, 1, newPieces(list))
			stepUntilSomeHasCome(t, in)
			a.wire.cancel(send, errGivenUp)
			for i := range list {
				clear(list[i])
				list[i] = nil
			}
			in.turn()
			_, err := a.wait(send)
			require.NoError(t, err, "it could no longer be given up")
			b.mustWait(recv)
			require.True(t, bytes.Equal(want, buf), "pieces of up to %d bytes", longest)
		}
	})
}

// TestReceiveGivenUpOnItsWay: the buffer is not touched afterwards, the sender is
// not held up, and later messages arrive.
func TestReceiveGivenUpOnItsWay(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		a.mustWait(a.isend(2, 1, nil))
		b.mustWait(b.irecv(1, 1, nil))
		const length = 16 << 20
		data, buf := pattern(length, 7), make([]byte, length)
		recv := b.irecv(1, 1, buf)
		in := (*b.wire.ins.Load())[0]
		in.mu.Lock() // the test reads in its own steps
		send := a.isend(2, 1, data)
		stepUntilSomeHasCome(t, in)
		b.cancelReceive(recv, errGivenUp)
		clear(buf)
		in.turn()
		_, err := b.wait(recv)
		require.ErrorIs(t, err, errGivenUp)
		a.mustWait(send)
		next := b.irecv(1, 1, make([]byte, 10))
		a.mustWait(a.isend(2, 1, make([]byte, 10)))
		b.mustWait(next)
		require.True(t, bytes.Equal(make([]byte, length), buf))
	})
}
