package embedded

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), wireDeadline)
	t.Cleanup(cancel)
	return ctx
}

// nowhere is a TCP address of this machine where nobody listens.
func nowhere(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestRefusedConnectionIsNoDeath: a process that is alive and cannot be connected to
// is tried again; when that does not end, it is the error of the one who tries.
func TestRefusedConnectionIsNoDeath(t *testing.T) {
	for name, there := range map[string]bool{"until it can be reached": true, "until its patience is over": false} {
		t.Run(name, func(t *testing.T) {
			a, _ := startNode(t, 1, t.Name(), func(c *wireConfig) {
				c.Patience = 50 * time.Millisecond
				if there {
					c.Patience = wireDeadline
				}
			})
			address := nowhere(t)
			a.wire.addPeers([]control.Peer{{Proc: 2, Host: "another", TCP: address}})
			send := a.isend(2, 1, make([]byte, 100_000))
			if there {
				time.AfterFunc(20*time.Millisecond, func() {
					startNode(t, 2, t.Name(), func(c *wireConfig) { c.Listen, c.Host = address, "another" })
				})
				require.Eventually(t, func() bool { return a.wire.known(2).isOpen() }, wireDeadline, time.Millisecond)
				require.False(t, completedRequest(send), "nobody receives it")
			} else {
				_, err := a.wait(send)
				require.ErrorIs(t, err, ErrUnreachable)
				require.ErrorContains(t, err, address)
			}
			require.NoError(t, a.wire.flush(timeout(t)))
			require.Empty(t, a.suspects)
		})
	}
}

func (l *outlink) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == linkOpen
}

// TestUnreachableEndsAllCommunicators: whatever this process waits for ends with its
// own error, since messages that it took for sent are lost; nothing that was sent
// behind them arrives. Another communicator is another attempt.
func TestUnreachableEndsAllCommunicators(t *testing.T) {
	e := newEndpoint(1, 0)
	a, _ := startNode(t, 1, t.Name(), func(c *wireConfig) {
		c.Patience, c.Receiver, c.Unreachable = 50*time.Millisecond, e, e.abandon
	})
	e.wire = a.wire
	b, peer := startNode(t, 2, t.Name(), func(c *wireConfig) { c.Host = "another" })
	world := &communicator{e.ensure(control.Group{ID: 1, Procs: []control.Proc{1, 2, 3}}, 0)}
	lost := world.Isend(1, 1, []byte("lost"))
	all := []driver.Request{
		world.Irecv(driver.AnySource, 2, nil), world.Irecv(2, 1, nil),
		world.Isend(1, 1, make([]byte, 100_000)), world.Isend(2, 1, make([]byte, 100_000)), world.Isend(0, 1, make([]byte, 100_000)),
	}
	_, err := lost.Wait(t.Context())
	require.NoError(t, err, "it was buffered")
	// The address is of somebody else until the process has given up.
	_, stranger := startNode(t, 4, t.Name(), nil)
	a.wire.addPeers([]control.Peer{{Proc: 2, Host: "another", TCP: stranger.TCP}})
	for _, r := range all {
		_, err := r.Wait(timeout(t))
		require.ErrorIs(t, err, ErrUnreachable)
		require.ErrorContains(t, err, stranger.TCP)
	}
	require.Eventually(t, func() bool { return a.wire.known(2) == nil }, wireDeadline, time.Millisecond)
	a.wire.mu.Lock()
	a.wire.peers[2] = peer
	a.wire.mu.Unlock()
	for _, r := range []driver.Request{world.Isend(1, 1, []byte("behind")), world.Irecv(2, 1, nil)} {
		_, err = r.Wait(t.Context())
		require.ErrorIs(t, err, ErrUnreachable)
	}
	next := &communicator{e.ensure(control.Group{ID: 2, Procs: []control.Proc{1, 2}}, 1)}
	next.Isend(1, 1, []byte("next"))
	buf := make([]byte, 10)
	require.Equal(t, 4, b.mustWait(b.irecv(0, 1, buf)).Bytes)
	require.Equal(t, "next", string(buf[:4]))
	require.Empty(t, a.suspects)
	require.Empty(t, b.suspects)
}

// TestSecondAddress: the first one leads to somebody else.
func TestSecondAddress(t *testing.T) {
	both := nodes(t, 2, func(c *wireConfig) { c.Host = string(rune('a' + c.Self)) })
	_, other := startNode(t, 3, t.Name(), nil)
	_, peer := startNode(t, 4, t.Name(), nil)
	peer.Host, peer.TCP = "another", nowhere(t)+" "+other.TCP+" "+peer.TCP
	both[0].wire.addPeers([]control.Peer{peer})
	both[0].mustWait(both[0].isend(4, 1, []byte("x")))
	require.NoError(t, both[0].wire.flush(timeout(t)))
	require.Empty(t, both[0].suspects)
}

// TestHandshakeGivenUp: the listener has taken a connection that its dialler has not
// got, and which is made again.
func TestHandshakeGivenUp(t *testing.T) {
	a, peer := startNode(t, 1, t.Name(), nil)
	cfg := a.wire.cfg.Config
	cfg.Self = 2
	for range 3 {
		w, errs := pipe.Dial(timeout(t), cfg, 1, []pipe.Address{{Network: "tcp", Address: peer.TCP}})
		require.NoError(t, errs[0])
		defer w.Close()
	}
	b, _ := startNode(t, 2, t.Name(), nil)
	b.wire.addPeers([]control.Peer{peer})
	b.mustWait(b.isend(1, 1, []byte("x")))
	require.Equal(t, 1, a.mustWait(a.irecv(2, 1, make([]byte, 1))).Bytes)
	require.Empty(t, a.suspects)
	require.Len(t, *a.wire.ins.Load(), 1)
}
