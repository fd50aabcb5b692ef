package embedded

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

const wireDeadline = 60 * time.Second

// wireBodies are what the bytes can go through.
var wireBodies = []struct {
	name  string
	ring  int
	hosts bool // each process has a host of its own
}{
	{"ring", 256 << 10, false},
	{"unix", -1, false},
	{"tcp", 0, true},
}

// node is a process with a plain list of receives and messages.
type node struct {
	t    testing.TB
	self control.Proc
	wire *wire

	suspects chan control.Proc
	unread   atomic.Bool // eager messages are kept and not consumed

	mu       sync.Mutex
	clock    uint64
	receives []*posted
	messages []*kept
	started  map[*request]inbound // receives that are being sent into
}

type posted struct {
	receive
	from  control.Proc
	order uint64
}

type kept struct {
	e    envelope
	data []byte
	m    announced // nil: eager
	from creditor
}

var _ receiver = (*node)(nil)

func (p *posted) takes(e envelope) bool { return p.source == e.source && p.tag == e.tag }

// match takes the receive of a message out, or keeps the message.
func (n *node) match(k *kept) *posted {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.receives, func(p *posted) bool { return p.takes(k.e) })
	if i < 0 {
		k.data = bytes.Clone(k.data)
		n.messages = append(n.messages, k)
		return nil
	}
	p := n.receives[i]
	n.receives = slices.Delete(n.receives, i, i+1)
	return p
}

func (n *node) arrive(e envelope, data []byte, from creditor) {
	k := &kept{e: e, data: data, from: from}
	if p := n.match(k); p != nil {
		n.deliver(k, p)
	}
}

func (n *node) announce(e envelope, m announced) {
	k := &kept{e: e, m: m}
	if p := n.match(k); p != nil {
		n.deliver(k, p)
	}
}

func (n *node) deliver(k *kept, p *posted) {
	if k.m != nil {
		in := k.m.into(&p.receive)
		n.mu.Lock()
		n.started[p.request] = in
		n.mu.Unlock()
		in.start()
		return
	}
	status := driver.Status{Source: k.e.source, Tag: k.e.tag, Bytes: len(k.data)}
	copy(p.buf, k.data)
	if !n.unread.Load() {
		k.from.consumed(eagerPrice(len(k.data)))
	}
	p.request.complete(status, nil)
}

func (n *node) repost(r *receive) {
	n.mu.Lock()
	p := postedOf(r)
	k := n.take(p)
	if k == nil {
		n.receives = append(n.receives, p)
		slices.SortFunc(n.receives, func(a, b *posted) int { return int(a.order) - int(b.order) })
	}
	n.mu.Unlock()
	if k != nil {
		n.deliver(k, p)
	}
}

func (n *node) withdraw(m announced) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages = slices.DeleteFunc(n.messages, func(k *kept) bool { return k.m == m })
}

func (n *node) lost(e envelope, m announced) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.messages, func(k *kept) bool { return k.m == m })
	if i < 0 {
		return
	}
	behind := slices.DeleteFunc(n.messages[i:], func(k *kept) bool { return k.e.comm == e.comm && k.e.source == e.source })
	n.messages = n.messages[:i+len(behind)]
}

// take takes the first message for a receive out; mu is held.
func (n *node) take(p *posted) *kept {
	i := slices.IndexFunc(n.messages, func(k *kept) bool { return p.takes(k.e) })
	if i < 0 {
		return nil
	}
	k := n.messages[i]
	n.messages = slices.Delete(n.messages, i, i+1)
	return k
}

// The rank of a process in communicator 1 is its number.
func (n *node) isend(to control.Proc, tag int, data []byte) *request {
	return n.isendOn(1, to, tag, data)
}

func (n *node) isendOn(c control.CommID, to control.Proc, tag int, data []byte) *request {
	return n.isendPieces(c, to, tag, pieces{first: data})
}

func (n *node) isendPieces(c control.CommID, to control.Proc, tag int, data pieces) *request {
	r := newTestRequest(to)
	n.wire.send(to, envelope{comm: c, source: int(n.self), tag: tag, length: data.length()}, data, r)
	return r
}

func (n *node) irecv(from control.Proc, tag int, buf []byte) *request {
	p := &posted{receive: receive{source: int(from), tag: tag, buf: buf}, from: from}
	p.request = newTestRequest(from)
	keepPosted(p)
	n.mu.Lock()
	n.clock++
	p.order = n.clock
	k := n.take(p)
	if k == nil {
		n.receives = append(n.receives, p)
	}
	n.mu.Unlock()
	if k != nil {
		n.deliver(k, p)
	}
	return p.request
}

// waiting is how many receives and messages there are.
func (n *node) waiting() (receives, messages int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.receives), len(n.messages)
}

// cancelReceive gives a receive up, as an endpoint does.
func (n *node) cancelReceive(r *request, err error) {
	for {
		n.mu.Lock()
		i := slices.IndexFunc(n.receives, func(p *posted) bool { return p.request == r })
		if i >= 0 {
			n.receives = slices.Delete(n.receives, i, i+1)
		}
		in := n.started[r]
		n.mu.Unlock()
		if i >= 0 {
			r.complete(driver.Status{}, err)
			return
		}
		if completedRequest(r) {
			return
		}
		if in != nil {
			in.cancel(err)
		}
		runtime.Gosched()
	}
}

// wait spins and then sleeps, as an endpoint does.
func (n *node) wait(r *request) (driver.Status, error) {
	n.t.Helper()
	if !n.wire.spin(context.Background(), r) {
		sleepOn(n.t, r)
	}
	return resultOf(r)
}

// mustWait is wait for what must succeed.
func (n *node) mustWait(r *request) driver.Status {
	n.t.Helper()
	st, err := n.wait(r)
	require.NoError(n.t, err)
	return st
}

// nodes starts processes 1, 2, ... that know each other.
func nodes(t testing.TB, count int, change func(c *wireConfig)) []*node {
	var all []*node
	var peers []control.Peer
	for i := range count {
		n, peer := startNode(t, control.Proc(i+1), t.Name(), change)
		all = append(all, n)
		peers = append(peers, peer)
	}
	for _, n := range all {
		n.wire.addPeers(peers)
	}
	return all
}

func startNode(t testing.TB, self control.Proc, job string, change func(c *wireConfig)) (*node, control.Peer) {
	n := &node{t: t, self: self, suspects: make(chan control.Proc, 10), started: make(map[*request]inbound)}
	cfg := wireConfig{
		Config: pipe.Config{Self: uint32(self), Job: testJob(job), Secret: bytes.Repeat([]byte{1}, 32), Log: slog.New(slog.DiscardHandler)},
		Host:   "host", Listen: "127.0.0.1:0",
		Receiver: n, Suspect: func(p control.Proc, why error) { n.suspects <- p }, Unreachable: func(error) {},
		Patience: minPatience,
	}
	if change != nil {
		change(&cfg)
	}
	w, err := newWire(cfg)
	require.NoError(t, err)
	n.wire = w
	t.Cleanup(w.close)
	local, tcp := w.addresses()
	return n, control.Peer{Proc: self, Host: cfg.Host, Address: local, TCP: tcp}
}

func testJob(name string) string {
	return fmt.Sprintf("%d-%x", os.Getpid(), fnv(name))
}

func fnv(s string) uint32 {
	h := uint32(2166136261)
	for _, b := range []byte(s) {
		h = (h ^ uint32(b)) * 16777619
	}
	return h
}

// onWireBodies runs a test with two processes on each body.
func onWireBodies(t *testing.T, test func(t *testing.T, a, b *node)) {
	for _, body := range wireBodies {
		t.Run(body.name, func(t *testing.T) {
			both := nodes(t, 2, func(c *wireConfig) {
				c.Ring = body.ring
				if body.hosts {
					c.Host = fmt.Sprint("host", c.Self)
				}
				c.Spin = 20 * time.Microsecond
			})
			test(t, both[0], both[1])
		})
	}
}

// pattern is data that tells its message.
func pattern(length int, seed uint64) []byte {
	b := make([]byte, length)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
