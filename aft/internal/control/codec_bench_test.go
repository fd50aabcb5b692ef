package control

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// BenchmarkCodec is what typical messages take to be written and read, the check of both included.
//
//	go test ./aft/internal/control -run ^$ -bench Codec -benchmem
func BenchmarkCodec(b *testing.B) {
	made := func(n int) Message {
		m := &Made{Comm: 1, Seq: OfZone.Seq(3), Op: OpRepair, New: &Group{ID: 2}, Change: &driver.Change{Epoch: 1}}
		for i := range n {
			m.New.Procs = append(m.New.Procs, Proc(i))
			m.Change.Ranks = append(m.Change.Ranks, i)
		}
		return Message{Kind: KindMade, To: []Proc{3, 4}, Made: m}
	}
	peers := Message{Kind: KindPeers}
	for i := range 8 {
		peers.Peers = append(peers.Peers, Peer{
			Proc: Proc(i), Original: Original(i), Node: Node(i / 2), Host: "node-3.cluster", Address: fmt.Sprintf("@craft/0123456789abcdef/%d", i),
		})
	}
	for _, of := range []struct {
		name string
		Message
	}{
		{"pulse", Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1000, Zone: 1, Step: 700, Left: testTiming.Lease}}},
		{"join", Message{Kind: KindJoin, Joins: []Join{{Proc: 3, Comm: 1, Seq: OfZone.Seq(1), Op: OpEnd, Verdict: &driver.Verdict{}, Step: 700}}}},
		{"failed", Message{Kind: KindFailed, Failed: []Proc{3}}},
		{"peers-8", peers},
		{"made-8", made(8)},
		{"made-1000", made(1000)},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			var wire bytes.Buffer
			require.NoError(b, WriteMessage(&wire, of.Message))
			length := float64(wire.Len())
			for b.Loop() {
				wire.Reset()
				_ = WriteMessage(&wire, of.Message)
				_, _ = ReadMessage(&wire)
			}
			b.ReportMetric(length, "wire-B")
		})
	}
}
