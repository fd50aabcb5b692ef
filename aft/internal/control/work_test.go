package control

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// work counts what the root takes of memory while it handles messages: whatever looks at all ranks makes a list of some.
type work struct {
	*script
	messages, bytes uint64
	next            []Send
}

func (w *work) handle(from Node, m Message) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	actions := w.r.Handle(w.now, from, m)
	w.r.Next()
	runtime.ReadMemStats(&after)
	w.messages++
	w.bytes += after.TotalAlloc - before.TotalAlloc
	for _, a := range actions {
		if a.Send != nil {
			w.next = append(w.next, *a.Send)
		}
	}
}

// each returns the bytes for each message of those that do sends.
func (w *work) each(do func()) uint64 {
	w.messages, w.bytes = 0, 0
	do()
	return w.bytes / max(w.messages, 1)
}

const perNode = 4

// recoveryWork is what a failure costs in a job of so many ranks: for each message before the last one of a step, and
// in all.
func recoveryWork(t *testing.T, size int, recovery driver.Recovery) (steps map[string]uint64, all uint64) {
	named := driver.Policy{Recovery: recovery, Spawn: driver.Reuse}
	nodes := nodesOf(size/perNode+1, 1)
	for i := range nodes {
		nodes[i].Slots = perNode
	}
	w := &work{script: launched(t, RootConfig{Size: size, Nodes: nodes})}
	steps = make(map[string]uint64)
	node := func(p int) Node { return Node(p / perNode) }
	steps["hello"] = w.each(func() {
		for p := range size - 1 {
			w.handle(node(p), Message{Kind: KindHello, Hello: &Hello{Proc: Proc(p), Version: Version, Address: "a"}})
		}
	})
	w.hello(Proc(size - 1))
	steps["begin"] = w.each(func() {
		for p := range size {
			w.handle(node(p), Message{Kind: KindBegin, Begin: &Begin{Proc: Proc(p), Policy: &named}})
		}
	})
	steps["pulse"] = w.each(func() {
		for i := range nodes {
			w.handle(Node(i), Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1}})
		}
	})
	joins := func(seq uint64, op Op, from, to int) func() {
		return func() {
			for n := from; n < to; n++ {
				var list []Join
				for p := n * perNode; p < (n+1)*perNode && p < size-1; p++ { // the last rank has failed
					list = append(list, Join{Proc: Proc(p), Comm: 1, Seq: OfZone.Seq(seq), Op: op, Policy: &named, Verdict: &driver.Verdict{Failure: true}})
				}
				w.handle(Node(n), Message{Kind: KindJoin, Joins: list})
			}
		}
	}
	last := size/perNode - 1
	all = w.each(func() {
		w.handle(node(size-1), Message{Kind: KindExit, Exits: []Exit{{Proc: Proc(size - 1), Code: -1, Signal: 9}}})
		w.handle(0, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1, Derived: true}})
	})
	for seq, op := range []Op{OpEnd, OpRepair} {
		steps[string(op)] = w.each(joins(uint64(seq), op, 0, last))
		all += w.bytes + w.each(joins(uint64(seq), op, last, last+1))
	}
	all += w.each(func() {
		w.handle(node(size-1), Message{Kind: KindHello, Hello: &Hello{Proc: Proc(size), Version: Version, Address: "a"}})
	})
	made := 0
	for _, s := range w.next {
		if s.Message.Made != nil && s.Message.Made.Change != nil {
			made++
		}
	}
	require.Equal(t, size/perNode+1, made, "the new world, for each node and the replacement")
	return steps, all
}

// TestWorkPerMessage: what the root does about a message of a recovery does not grow with the number of ranks, and
// what it does in all no faster than the messages that it sends.
func TestWorkPerMessage(t *testing.T) {
	const few, many = 128, 1024
	for _, recovery := range []driver.Recovery{driver.NonShrinking, driver.GlobalRestart} {
		small, allSmall := recoveryWork(t, few, recovery)
		large, allLarge := recoveryWork(t, many, recovery)
		t.Logf("%s: bytes for each message of %d ranks %v, of %d ranks %v; in all %d and %d", recovery, few, small, many, large, allSmall, allLarge)
		for step, bytes := range large {
			require.LessOrEqual(t, bytes, 2*small[step]+512, "%s: %s", recovery, step)
		}
		require.LessOrEqual(t, allLarge, 2*allSmall*many/few, recovery)
	}
}
