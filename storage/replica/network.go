package replica

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Network is a model of what communication costs: each message takes a rank's time when it sends
// and when it receives it, so does each range in it, each byte that of copying it there, and the bytes of the ranks of a node
// share what leads into the node. A rank does one thing at a time, and nothing overlaps.
type Network struct {
	Latency       time.Duration // of a message, at either end
	Piece         time.Duration // for a range or a part of one, at either end: where it is, its head
	RankBandwidth float64       // bytes per second that a rank packs and sends, or receives and unpacks
	NodeBandwidth float64       // bytes per second into a node, and as many out of it
	RanksPerNode  int
}

// PaperNetwork is the machine of the paper (VI-A): nodes of 48 ranks with 100 Gbit/s. Its rank
// bandwidth is that of the paper's 21 ms for 16 MiB from one rank to another (VI-D2), so that this one
// measurement agrees with the model by choice; latency is that of such networks with the matching in
// MPI, and what a piece takes about what the placement of a range does.
func PaperNetwork() Network {
	return Network{Latency: 2 * time.Microsecond, Piece: 500 * time.Nanosecond, RankBandwidth: 0.85e9, NodeBandwidth: 12.5e9, RanksPerNode: 48}
}

func (n Network) check() error {
	if n.Latency < 0 || n.Piece < 0 || n.RankBandwidth <= 0 || n.NodeBandwidth <= 0 || n.RanksPerNode < 1 {
		return fmt.Errorf("%w: a network of %d ranks a node, %v a message, %g bytes/s of a rank and %g of a node: they are positive",
			ErrOptions, n.RanksPerNode, n.Latency, n.RankBandwidth, n.NodeBandwidth)
	}
	return nil
}

// Cost is what an operation takes. But for the first two, it is that of the rank or node which has
// most to do (the paper's bottleneck volume and number of messages).
type Cost struct {
	Bytes, Messages                int64
	Sent, Received                 int64
	MessagesSent, MessagesReceived int64
	NodeSent, NodeReceived         int64
	Time                           time.Duration // by the model, or the longest that there is
}

// tally is what the ranks send each other in an operation.
type tally struct {
	network Network
	ranks   []rankTally
	nodes   []nodeTally
	// met is the rank with which a rank has shared a message last, plus 1: those of one pair are one.
	met []int
}

type rankTally struct{ sent, received, messagesSent, messagesReceived, kept, pieces int64 }

type nodeTally struct{ sent, received int64 }

func newTally(ranks int, n Network) *tally {
	return &tally{network: n, ranks: make([]rankTally, ranks), nodes: make([]nodeTally, (ranks-1)/n.RanksPerNode+1), met: make([]int, ranks)}
}

// move takes bytes from one rank to another, in a message of their own or together with others.
func (t *tally) move(from, to Seat, bytes int64, message bool) {
	if from == to {
		t.ranks[to].kept += bytes
		return
	}
	t.ranks[from].pieces++
	t.ranks[to].pieces++
	t.ranks[from].sent += bytes
	t.ranks[to].received += bytes
	if message {
		t.ranks[from].messagesSent++
		t.ranks[to].messagesReceived++
	}
	if a, b := int(from)/t.network.RanksPerNode, int(to)/t.network.RanksPerNode; a != b {
		t.nodes[a].sent += bytes
		t.nodes[b].received += bytes
	}
}

// meets reports whether one rank meets another for the first time, when all that the one has to do is
// entered at a time.
func (t *tally) meets(one, other Seat) bool {
	first := t.met[other] != int(one)+1
	t.met[other] = int(one) + 1
	return first
}

// cost sums up. Loads and repairs have two exchanges, in the first of which each message is asked for. An
// exchange ends when all ranks know that nothing more comes: 2 log2(p) messages of each.
func (t *tally) cost(exchanges int) (c Cost) {
	var slowest float64 // seconds
	for _, r := range t.ranks {
		c.Bytes, c.Messages = c.Bytes+r.sent, c.Messages+r.messagesSent
		c.Sent, c.Received = max(c.Sent, r.sent), max(c.Received, r.received)
		c.MessagesSent, c.MessagesReceived = max(c.MessagesSent, r.messagesSent), max(c.MessagesReceived, r.messagesReceived)
		busy := float64(r.sent+r.received+r.kept)/t.network.RankBandwidth + float64(r.pieces)*t.network.Piece.Seconds()
		messages := r.messagesSent + r.messagesReceived + 2*int64(bits.Len(uint(len(t.ranks)-1)))
		slowest = max(slowest, busy+float64(int64(exchanges)*messages)*t.network.Latency.Seconds())
	}
	for _, n := range t.nodes {
		c.NodeSent, c.NodeReceived = max(c.NodeSent, n.sent), max(c.NodeReceived, n.received)
	}
	slowest += float64(max(c.NodeSent, c.NodeReceived)) / t.network.NodeBandwidth
	c.Time = math.MaxInt64
	if slowest < c.Time.Seconds() {
		c.Time = time.Duration(slowest * float64(time.Second))
	}
	return c
}
