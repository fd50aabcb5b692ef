package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/testseed"
)

var errGivenUp = errors.New("given up")

// TestMessages exchanges messages of all protocols in both directions, with the
// receives posted before and after.
func TestMessages(t *testing.T) {
	lengths := []int{0, 1, 8, 255, 256, 257, wireEager - 1, wireEager, wireEager + 1, wirePiece, wirePiece + 1, 3_000_000}
	onWireBodies(t, func(t *testing.T, a, b *node) {
		for _, early := range []bool{false, true} {
			for i, length := range lengths {
				tag := int(i)
				for _, pair := range [][2]*node{{a, b}, {b, a}} {
					from, to := pair[0], pair[1]
					data, buf := pattern(length, uint64(i)), make([]byte, length+3)
					var send, recv *request
					if early {
						recv = to.irecv(from.self, tag, buf)
						send = from.isend(to.self, tag, data)
					} else {
						send = from.isend(to.self, tag, data)
						recv = to.irecv(from.self, tag, buf)
					}
					st := to.mustWait(recv)
					from.mustWait(send)
					require.Equal(t, driver.Status{Source: int(from.self), Tag: tag, Bytes: length}, st)
					require.True(t, bytes.Equal(data, buf[:length]), "length %d", length)
				}
			}
		}
	})
}

// TestTraffic: two processes send each other messages of random lengths, many at
// once, that arrive in order.
func TestTraffic(t *testing.T) {
	random := testseed.Rand(t)
	const count = 400
	lengths := make([]int, count)
	for i := range lengths {
		lengths[i] = random.IntN(1 << (1 + random.IntN(19)))
	}
	onWireBodies(t, func(t *testing.T, a, b *node) {
		var both sync.WaitGroup
		work := func(me, other *node) {
			for first := 0; first < count; first += 20 {
				var sends, recvs []*request
				bufs := make([][]byte, 20)
				for i := range 20 {
					sends = append(sends, me.isend(other.self, 5, pattern(lengths[first+i], uint64(first+i))))
				}
				for i := range 20 {
					bufs[i] = make([]byte, lengths[first+i])
					recvs = append(recvs, me.irecv(other.self, 5, bufs[i]))
				}
				for i, r := range recvs {
					st, err := me.wait(r)
					if err != nil || st.Bytes != len(bufs[i]) || !bytes.Equal(bufs[i], pattern(lengths[first+i], uint64(first+i))) {
						t.Errorf("message %d: %+v, error %v", first+i, st, err)
						return
					}
				}
				for _, r := range sends {
					if _, err := me.wait(r); err != nil {
						t.Error(err)
					}
				}
			}
		}
		both.Go(func() { work(a, b) })
		both.Go(func() { work(b, a) })
		both.Wait()
	})
}

// TestSpinHeedsItsContext: a wait that helps along others, of which there are always some, ends
// when it is to end.
func TestSpinHeedsItsContext(t *testing.T) {
	n, _ := startNode(t, 1, t.Name(), func(c *wireConfig) { c.Spin = 2 * wireDeadline })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	require.False(t, n.wire.spin(ctx, n.irecv(2, 1, nil)))
	require.Less(t, time.Since(began), wireDeadline)
}

// TestManyWaiters: goroutines that spin and sleep at the same time miss nothing.
func TestManyWaiters(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		var all sync.WaitGroup
		for g := range 4 {
			tag := int(g)
			rounds := func(me, other *node, first bool) {
				buf := make([]byte, 100_000)
				for i := range 200 {
					length := []int{8, 100_000}[(i+g)%2]
					if first {
						me.mustWait(me.isend(other.self, tag, buf[:length]))
					}
					me.mustWait(me.irecv(other.self, tag, buf))
					if !first {
						me.mustWait(me.isend(other.self, tag, buf[:length]))
					}
					if i%50 == g { // both sides go to sleep now and then
						time.Sleep(200 * time.Microsecond)
					}
				}
			}
			all.Go(func() { rounds(a, b, true) })
			all.Go(func() { rounds(b, a, false) })
		}
		all.Wait()
	})
}

// TestEagerBytesAreBounded: what nobody has asked for stays with its sender once
// the window is full, and goes on when it has been received.
func TestEagerBytesAreBounded(t *testing.T) {
	for _, length := range []int{0, 1000, wireEager} {
		onWireBodies(t, func(t *testing.T, a, b *node) {
			want := wireWindow / eagerPrice(length)
			var sends []*request
			fill := func() (done int) {
				for {
					r := a.isend(2, 1, make([]byte, length))
					sends = append(sends, r)
					if !completedRequest(r) {
						return done
					}
					done++
				}
			}
			require.Equal(t, want, fill())
			require.Eventually(t, func() bool { _, m := b.waiting(); return m == want+1 }, wireDeadline, time.Millisecond)
			for range len(sends) {
				b.mustWait(b.irecv(1, 1, make([]byte, length)))
			}
			for _, r := range sends {
				a.mustWait(r)
			}
			// Most of the window has come back.
			require.Eventually(t, func() bool {
				l := a.wire.known(2)
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.credit > wireWindow*3/4-eagerPrice(length)
			}, wireDeadline, time.Millisecond)
		})
	}
}

func TestTruncated(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		send := a.isend(2, 1, make([]byte, 100_000))
		buf := make([]byte, 99_999)
		_, err := b.wait(b.irecv(1, 1, buf))
		var truncated *driver.TruncatedError
		require.ErrorAs(t, err, &truncated)
		require.Equal(t, driver.TruncatedError{Status: driver.Status{Source: 1, Tag: 1, Bytes: 100_000}, Buffer: 99_999}, *truncated)
		a.mustWait(send)
		next := b.irecv(1, 2, buf)
		a.mustWait(a.isend(2, 2, []byte("next")))
		require.Equal(t, 4, b.mustWait(next).Bytes)
	})
}

// TestDrop: what has arrived is delivered, the rest fails.
func TestDrop(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		b.mustWait(b.isend(1, 1, []byte("arrived"))) // eager
		require.NoError(t, b.wire.flush(t.Context()))
		announcedOnly := b.isend(1, 2, make([]byte, 100_000))
		require.Eventually(t, func() bool { _, m := a.waiting(); return m == 2 }, wireDeadline, time.Millisecond)
		sends := []*request{a.isend(2, 1, make([]byte, 100_000)), a.isend(2, 1, make([]byte, 10<<20))}
		a.wire.drop(2)
		a.wire.drop(2)
		for _, r := range append(sends, a.isend(2, 1, nil), a.isend(2, 1, make([]byte, 100_000))) {
			_, err := a.wait(r)
			require.Equal(t, &driver.FailedError{Ranks: []int{2}}, err)
		}
		_, m := a.waiting()
		require.Equal(t, 1, m, "the message that was only announced is gone")
		buf := make([]byte, 10)
		require.Equal(t, 7, a.mustWait(a.irecv(2, 1, buf)).Bytes)
		require.Empty(t, a.suspects)
		require.False(t, completedRequest(announcedOnly), "it waits for its own root's word")
		b.wire.drop(1)
		_, err := b.wait(announcedOnly)
		require.ErrorIs(t, err, driver.ErrProcFailed)
	})
}

// TestDropTwiceAtOnce: whoever drops a process finds what has arrived delivered, also if another
// one is about to.
func TestDropTwiceAtOnce(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		b.mustWait(b.isend(1, 1, nil))
		a.mustWait(a.irecv(2, 1, nil))
		in := (*a.wire.ins.Load())[0]
		in.mu.Lock() // somebody reads
		b.mustWait(b.isend(1, 1, []byte("arrived")))
		require.NoError(t, b.wire.flush(t.Context()))
		recv := a.irecv(2, 1, make([]byte, 10))
		dropped := func() bool { a.wire.mu.Lock(); defer a.wire.mu.Unlock(); return len(a.wire.gone) > 0 }
		first := make(chan struct{})
		go func() { defer close(first); a.wire.drop(2) }()
		require.Eventually(t, dropped, wireDeadline, time.Millisecond)
		time.AfterFunc(20*time.Millisecond, in.mu.Unlock)
		a.wire.drop(2)
		require.True(t, completedRequest(recv))
		require.Equal(t, 7, a.mustWait(recv).Bytes)
		<-first
	})
}

// TestDroppedProcessesAreForgotten: what is kept does not grow with those that have failed.
func TestDroppedProcessesAreForgotten(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		b.mustWait(b.isend(1, 1, nil))
		a.mustWait(a.irecv(2, 1, nil))
		a.mustWait(a.isend(2, 1, nil))
		require.Len(t, *a.wire.ins.Load(), 1)
		a.wire.suspect(2, errFrame)
		a.wire.drop(2)
		_, peer := startNode(t, 2, "another", nil)
		a.wire.addPeers([]control.Peer{peer}) // who tells of it was behind
		a.wire.suspect(2, errFrame)
		_, err := a.wait(a.isend(2, 1, nil))
		require.ErrorIs(t, err, driver.ErrProcFailed)
		require.Empty(t, *a.wire.ins.Load())
		require.Empty(t, *a.wire.outs.Load())
		require.Empty(t, a.wire.suspected)
		require.NotContains(t, a.wire.peers, control.Proc(2))
	})
}

// TestMemoryOfFailures: what a process keeps of each that has failed.
func TestMemoryOfFailures(t *testing.T) {
	const many = 2000
	e := newEndpoint(0, 0)
	a, _ := startNode(t, 0, t.Name(), func(c *wireConfig) { c.Receiver = e })
	e.wire = a.wire
	fail := func(p control.Proc) {
		if p%2 == 0 { // it is known where that is, and something is to be said to the others
			a.wire.addPeers([]control.Peer{{Proc: p, Host: "host", Address: fmt.Sprintf("@nobody-%d", p), TCP: "10.0.0.1:1 :1"}})
		} else {
			a.isend(p, 1, []byte("x"))
		}
		e.lose([]control.Proc{p}, failed)
	}
	fail(1)
	before := heap()
	for p := range control.Proc(many) {
		fail(2 + p)
	}
	require.Less(t, (heap()-before)/many, 200, "bytes for each")
}

// TestReceiveThatMeetsADrop: the endpoint had found the message, and asks for its
// data when the sender has just been dropped.
func TestReceiveThatMeetsADrop(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		b.isend(1, 2, make([]byte, 100_000))
		require.Eventually(t, func() bool { _, m := a.waiting(); return m == 1 }, wireDeadline, time.Millisecond)
		m := a.messages[0].m
		a.wire.drop(2)
		r := newTestRequest(2)
		m.into(&receive{source: 2, tag: 2, buf: make([]byte, 100_000), request: r}).start()
		_, err := a.wait(r)
		require.Equal(t, &driver.FailedError{Ranks: []int{2}}, err)
	})
}

// TestShortMessagesAreTakenOver: also when there is no room, the sender can
// change its buffer as soon as the send is complete.
func TestShortMessagesAreTakenOver(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		a.mustWait(a.isend(2, 1, nil))
		b.mustWait(b.irecv(1, 1, nil))
		in := (*b.wire.ins.Load())[0]
		in.mu.Lock() // nobody reads
		const count = wireWindow/wireEager - 1
		data, buf := make([]byte, wireEager), make([]byte, wireEager)
		for i := range uint64(count) {
			copy(data, pattern(wireEager, i))
			require.True(t, completedRequest(a.isend(2, 1, data)))
			clear(data)
		}
		in.turn()
		for i := range uint64(count) {
			b.mustWait(b.irecv(1, 1, buf))
			require.True(t, bytes.Equal(pattern(wireEager, i), buf), "message %d", i)
		}
	})
}

// TestDropWhileReceiving: a receive whose data is arriving fails.
func TestDropWhileReceiving(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		recv := a.irecv(2, 1, make([]byte, 64<<20))
		b.isend(1, 1, make([]byte, 64<<20))
		require.Eventually(t, func() bool { r, _ := a.waiting(); return r == 0 }, wireDeadline, time.Microsecond)
		a.wire.drop(2)
		_, err := a.wait(recv)
		if err != nil { // else it was faster
			require.ErrorIs(t, err, driver.ErrProcFailed)
		}
	})
}

// TestSendToOneWhoIsNotKnownYet waits until it is.
func TestSendToOneWhoIsNotKnownYet(t *testing.T) {
	a, _ := startNode(t, 1, t.Name(), nil)
	b, peer := startNode(t, 2, t.Name(), nil)
	data := pattern(100_000, 1)
	short, long := a.isend(2, 1, []byte("short")), a.isend(2, 2, data)
	require.True(t, completedRequest(short))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.wire.flush(ctx), context.DeadlineExceeded)
	a.wire.addPeers([]control.Peer{peer})
	a.wire.addPeers([]control.Peer{peer})
	buf := make([]byte, len(data))
	recv := b.irecv(1, 1, buf)
	require.Equal(t, 5, b.mustWait(recv).Bytes)
	// The answer needs the other direction.
	recv = b.irecv(1, 2, buf)
	local, tcp := a.wire.addresses()
	b.wire.addPeers([]control.Peer{{Proc: 1, Host: "host", Address: local, TCP: tcp}})
	b.mustWait(recv)
	a.mustWait(long)
	require.Equal(t, data, buf)
}

// TestFlushAndClose: what was flushed arrives after its sender has gone, and one
// who goes properly is not suspected.
func TestFlushAndClose(t *testing.T) {
	before := runtime.NumGoroutine()
	onWireBodies(t, func(t *testing.T, a, b *node) {
		for i := range 100 {
			a.mustWait(a.isend(2, int(i), pattern(5000, uint64(i))))
		}
		require.NoError(t, a.wire.flush(t.Context()))
		a.wire.close()
		a.wire.close()
		b.wire.drop(1)
		buf := make([]byte, 5000)
		for i := range 100 {
			b.mustWait(b.irecv(1, int(i), buf))
			require.Equal(t, pattern(5000, uint64(i)), buf)
		}
		_, err := a.wait(a.isend(2, 1, nil))
		require.ErrorIs(t, err, driver.ErrClosed)
		require.Empty(t, b.suspects)
		b.wire.close()
	})
	for end := time.Now().Add(wireDeadline); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}

// TestCloseEndsWhatIsUnderWay also where nobody is ever going to answer.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	onWireBodies(t, func(t *testing.T, a, b *node) {
		sends := []*request{a.isend(2, 1, make([]byte, 100_000)), a.isend(99, 1, make([]byte, 100_000))}
		recv := b.irecv(1, 2, make([]byte, 64<<20))
		sends = append(sends, a.isend(2, 2, make([]byte, 64<<20)))
		a.wire.close()
		for i, r := range sends {
			_, err := a.wait(r)
			if i == 2 && err == nil {
				continue // the one that is being received was faster
			}
			require.ErrorIs(t, err, driver.ErrClosed)
		}
		b.wire.close()
		b.cancelReceive(recv, errGivenUp)
	})
}

func TestSpinBudget(t *testing.T) {
	cores := runtime.NumCPU()
	if spinBudget(1) == 0 {
		t.Error("one rank does not spin")
	}
	require.Zero(t, spinBudget(cores+1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	t.Setenv("GOMAXPROCS", "")
	require.Zero(t, spinBudget(2), "a container with a quota")
	t.Setenv("GOMAXPROCS", "1")
	require.NotZero(t, spinBudget(cores), "set by hand, for one rank")
}
