package embedded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

// The environment of a child: what it does, the job, where process 1 is, the size
// of the ring, and how long it spins.
const wireChild = "CRAFT_TEST_WIRE_CHILD"

// startChild starts process 2 in a real process, and makes both known to each
// other.
func startChild(t testing.TB, n *node, does string, ring int, spin time.Duration) *exec.Cmd {
	local, _ := n.wire.addresses()
	c := exec.Command(os.Args[0], "-test.run=^TestWireChild$")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %d %d", wireChild, does, testJob(t.Name()), local, ring, spin))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	n.wire.addPeers([]control.Peer{{Proc: 2, Host: "host", Address: strings.TrimSpace(line)}})
	return c
}

// TestWireChild is no test: it is process 2.
func TestWireChild(t *testing.T) {
	setup := os.Getenv(wireChild)
	if setup == "" {
		t.Skip("only for the tests that start it")
	}
	var does, job, address string
	var ring int
	var spin time.Duration
	_, err := fmt.Sscan(setup, &does, &job, &address, &ring, (*int64)(&spin))
	require.NoError(t, err)
	n := &node{t: t, self: 2, suspects: make(chan control.Proc, 10), started: make(map[*request]inbound)}
	n.wire, err = newWire(wireConfig{
		Config: pipe.Config{Self: 2, Job: job, Secret: bytes.Repeat([]byte{1}, 32), Ring: ring, Log: slog.New(slog.DiscardHandler)},
		Host:   "host", Receiver: n, Spin: spin,
		Suspect:     func(control.Proc, error) { os.Exit(0) }, // the test has ended
		Unreachable: func(error) {}, Patience: minPatience,
	})
	require.NoError(t, err)
	local, _ := n.wire.addresses()
	fmt.Println(local)
	n.wire.addPeers([]control.Peer{{Proc: 1, Host: "host", Address: address}})
	switch does {
	case "count":
		n.count()
	case "echo":
		n.echo()
	}
}

// count sends numbered messages of several lengths for ever.
func (n *node) count() {
	lengths := []int{8, 1000, wireEager, wireEager + 8, 1 << 20}
	var on []*request
	for i := uint64(0); ; i++ {
		data := make([]byte, lengths[i%uint64(len(lengths))])
		binary.LittleEndian.PutUint64(data, i)
		binary.LittleEndian.PutUint64(data[len(data)-8:], i)
		on = append(on, n.isend(1, 1, data))
		if len(on) == 50 {
			n.mustWait(on[0])
			on = on[1:]
		}
	}
}

// echo sends back what it gets.
func (n *node) echo() {
	buf := make([]byte, 4<<20)
	for {
		st := n.mustWait(n.irecv(1, 1, buf))
		n.mustWait(n.isend(1, 1, buf[:st.Bytes]))
	}
}

// TestProcessIsKilled: SIGKILL in the middle of messages of all protocols. What
// has arrived is whole and in order; the rest fails once the root has said so.
func TestProcessIsKilled(t *testing.T) {
	for _, ring := range []int{256 << 10, -1} {
		for _, after := range []int{1, 50, 500} {
			t.Run(fmt.Sprintf("ring=%d/after=%d", ring, after), func(t *testing.T) {
				n, _ := startNode(t, 1, t.Name(), func(c *wireConfig) { c.Ring, c.Spin = ring, 20*time.Microsecond })
				child := startChild(t, n, "count", ring, 20*time.Microsecond)
				buf := make([]byte, 1<<20)
				killed, dropped := false, false
				for i := uint64(0); ; i++ {
					if i >= uint64(after) && !killed {
						killed = true
						require.NoError(t, child.Process.Kill())
						select {
						case p := <-n.suspects:
							require.EqualValues(t, 2, p)
						case <-time.After(wireDeadline):
							require.FailNow(t, "nobody is suspected")
						}
					}
					r := n.irecv(2, 1, buf)
					if killed && !dropped {
						dropped = true
						time.AfterFunc(time.Millisecond, func() { n.wire.drop(2) })
					}
					if !waitOrAbandon(n, r, dropped) {
						require.GreaterOrEqual(t, i, uint64(after))
						break
					}
					st, err := n.wait(r)
					if err != nil {
						require.ErrorIs(t, err, driver.ErrProcFailed)
						break
					}
					require.Equal(t, i, binary.LittleEndian.Uint64(buf))
					require.Equal(t, i, binary.LittleEndian.Uint64(buf[st.Bytes-8:]))
				}
				_, err := n.wait(n.isend(2, 1, nil))
				require.ErrorIs(t, err, driver.ErrProcFailed)
			})
		}
	}
}

// waitOrAbandon waits for a receive, after the drop only as long as it can still
// be met: the endpoint would have failed it then, which node does not.
func waitOrAbandon(n *node, r *request, dropped bool) bool {
	end := time.Now().Add(wireDeadline)
	for !completedRequest(r) {
		n.wire.spin(context.Background(), r)
		if dropped && n.goneFrom(2) && !completedRequest(r) {
			if posted, _ := n.waiting(); posted > 0 {
				return false
			}
		}
		require.True(n.t, time.Now().Before(end), "the receive does not end")
		time.Sleep(10 * time.Microsecond)
	}
	return true
}

// goneFrom reports whether drop has ended.
func (n *node) goneFrom(p control.Proc) bool {
	l := n.wire.known(p)
	if l == nil {
		l = n.wire.out(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == linkGone
}

// BenchmarkWire is the ping-pong between two processes. Half of the time per
// operation is the latency; the bytes per second are those of one direction.
//
//	go test ./aft/internal/embedded -run '^$' -bench Wire
//	CRAFT_TEST_RING=524288 go test ./aft/internal/embedded -run '^$' -bench Wire
func BenchmarkWire(b *testing.B) {
	rings := []int{0, -1}
	if s := os.Getenv("CRAFT_TEST_RING"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(b, err)
		rings = []int{n}
	}
	for _, ring := range rings {
		for _, spin := range []time.Duration{defaultSpin, 0} {
			for _, size := range []int{8, 1 << 10, 64 << 10, 4 << 20} {
				b.Run(fmt.Sprintf("ring=%d/spin=%v/bytes=%d", ring, spin, size), func(b *testing.B) {
					n, _ := startNode(b, 1, b.Name(), func(c *wireConfig) { c.Ring, c.Spin = ring, spin })
					startChild(b, n, "echo", ring, spin)
					buf := make([]byte, size)
					round := func() {
						n.mustWait(n.isend(2, 1, buf))
						n.mustWait(n.irecv(2, 1, buf))
					}
					for range 10 {
						round()
					}
					b.SetBytes(2 * int64(size))
					b.ResetTimer()
					for range b.N {
						round()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/message")
				})
			}
		}
	}
}

// BenchmarkPieces is 4 MiB to another process and back, sent from pieces of some length:
// gathered on the way, or copied to one place first.
//
//	go test ./aft/internal/embedded -run '^$' -bench Pieces
func BenchmarkPieces(b *testing.B) {
	const size = 4 << 20
	for _, length := range []int{256, 4 << 10, 64 << 10, 1 << 20} {
		for _, copied := range []bool{true, false} {
			b.Run(fmt.Sprintf("length=%d/copied=%v", length, copied), func(b *testing.B) {
				n, _ := startNode(b, 1, b.Name(), nil)
				startChild(b, n, "echo", 0, 0)
				list, buf := slices.Collect(slices.Chunk(make([]byte, size), length)), make([]byte, size)
				round := func() {
					data := newPieces(list)
					if copied {
						data = data.clone()
					}
					n.mustWait(n.isendPieces(1, 2, 1, data))
					n.mustWait(n.irecv(2, 1, buf))
				}
				for range 10 {
					round()
				}
				b.SetBytes(2 * size)
				b.ReportAllocs()
				for b.Loop() {
					round()
				}
			})
		}
	}
}
