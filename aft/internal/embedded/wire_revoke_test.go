package embedded

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

func TestRevoke(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		const other = 2
		queued := a.isend(2, 1, make([]byte, 100_000))
		kept := a.isendOn(other, 2, 9, pattern(100_000, 4))
		require.Eventually(t, func() bool { _, m := b.waiting(); return m == 2 }, wireDeadline, time.Millisecond)
		data := pattern(64<<20, 1)
		streaming := a.isend(2, 3, data)
		recv := b.irecv(1, 3, make([]byte, len(data)))
		a.wire.revoke(1, driver.ErrRevoked)
		clear(data)
		for _, r := range []*request{queued, streaming} {
			_, err := a.wait(r)
			if r != streaming || err != nil {
				require.ErrorIs(t, err, driver.ErrRevoked)
			}
		}
		b.cancelReceive(recv, driver.ErrRevoked)
		buf := make([]byte, 100_000)
		b.mustWait(b.irecv(1, 9, buf))
		a.mustWait(kept)
		require.True(t, bytes.Equal(pattern(100_000, 4), buf), "the other communicator goes on")
	})
}

// TestRevokeEndsAReceiveOnItsWay: at once, not when the rest has come.
func TestRevokeEndsAReceiveOnItsWay(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		a.mustWait(a.isend(2, 1, nil))
		b.mustWait(b.irecv(1, 1, nil))
		data := pattern(16<<20, 7)
		recv := b.irecv(1, 1, make([]byte, len(data)))
		in := (*b.wire.ins.Load())[0]
		in.mu.Lock() // the test reads in its own steps
		send := a.isend(2, 1, data)
		stepUntilSomeHasCome(t, in)
		b.wire.revoke(1, driver.ErrRevoked)
		require.True(t, completedRequest(recv))
		in.turn()
		_, err := b.wait(recv)
		require.ErrorIs(t, err, driver.ErrRevoked)
		a.mustWait(send)
	})
}

// TestRevokeDuringTheLastPiece: both processes are fine, so nobody may be suspected.
func TestRevokeDuringTheLastPiece(t *testing.T) {
	for _, longest := range []int{4 * wirePiece, wirePiece / 256} {
		t.Run(fmt.Sprintf("longest=%d", longest), func(t *testing.T) { revokeDuringTheLastPiece(t, longest) })
	}
}

func revokeDuringTheLastPiece(t *testing.T, longest int) {
	both := nodes(t, 2, func(c *wireConfig) { c.Ring = wirePiece }) // in which a piece has no room at once
	a, b := both[0], both[1]
	a.mustWait(a.isend(2, 1, nil))
	b.mustWait(b.irecv(1, 1, nil))
	data := pattern(4*wirePiece, 7)
	recv := b.irecv(1, 1, make([]byte, len(data)))
	in := (*b.wire.ins.Load())[0]
	in.mu.Lock() // the test reads in its own steps
	send := a.isendPieces(1, 2, 1, newPieces(slices.Collect(slices.Chunk(data, longest))))
	last := func() bool {
		l := a.wire.known(2)
		l.mu.Lock()
		defer l.mu.Unlock()
		o := send.out
		return l.current.of == o && o.left == 0 && len(l.current.body.first) > 0
	}
	for end := time.Now().Add(wireDeadline); !last(); {
		require.True(t, time.Now().Before(end))
		_, err := in.step()
		require.NoError(t, err)
	}
	a.wire.revoke(1, driver.ErrRevoked)
	b.wire.revoke(1, driver.ErrRevoked)
	in.turn()
	_, err := b.wait(recv)
	require.ErrorIs(t, err, driver.ErrRevoked)
	_, err = a.wait(send)
	require.ErrorIs(t, err, driver.ErrRevoked)
	const other = 2
	a.mustWait(a.isendOn(other, 2, 9, nil))
	b.mustWait(b.irecv(1, 9, nil)) // what follows arrives
	require.Empty(t, a.suspects)
	require.Empty(t, b.suspects)
}

// stepUntilSomeHasCome reads on behalf of whoever holds the lock of in, until the
// receive of a stream has begun.
func stepUntilSomeHasCome(t *testing.T, in *inlink) {
	for end := time.Now().Add(wireDeadline); in.into == nil || in.into.got == 0; {
		require.True(t, time.Now().Before(end))
		_, err := in.step()
		require.NoError(t, err)
	}
}
