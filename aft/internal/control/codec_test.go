package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/osstring"
)

func samples() []Message {
	return []Message{
		{Kind: KindReady, Ready: &Ready{Version: 1, Host: "h", PID: 3}},
		{Kind: KindHello, Hello: &Hello{Proc: 3, Address: "@x"}},
		{Kind: KindJoin, Joins: []Join{{Proc: 1, Comm: 2, Seq: 1 << 61, Op: OpEnd, Verdict: &driver.Verdict{Err: "x"}}}},
		{Kind: KindMade, To: []Proc{1}, Made: &Made{Op: OpRepair, New: &Group{ID: 2, Procs: []Proc{4, 1}}, Change: &driver.Change{Ranks: []int{-1, 1}}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpRepair, Change: &driver.Change{}, New: &Group{ID: 2, Lasting: true, Since: &Difference{
			Of: 1, Replaced: []Replaced{{4, 9}}, Without: []Proc{5}}}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpSpawn, New: &Group{ID: 2, Since: &Difference{Of: 1, Added: []Added{{2, 7}, {3, 8}}}}}},
		{Kind: KindMade, To: []Proc{4}, Made: &Made{New: &Group{ID: 2, Procs: []Proc{4, 1}}, Replacement: true, Stops: []int{2, 15}}},
		{Kind: KindOutput, Output: &Output{Proc: 1, Stream: 2, Data: []byte("line\n")}},
		{Kind: KindCredit, Credit: 5},
		{Kind: KindFree, Free: &Free{Proc: 3, Comm: 7}},
		{Kind: KindSetup, Setup: &Setup{Size: 1, Timing: testTiming}},
		{Kind: KindSetup, Setup: &Setup{
			Size: 1, Timing: testTiming, Program: "/p\xff", Dir: "/\xc3\x28", NodePath: "\xfe",
			Args: []osstring.String{"\x80", "ä", "\ufffd", "{\"bytes\":\"eA==\"}", "<&>\u2028", ""}, Env: []osstring.String{"A=\xed\xa0\x80"},
		}},
		{Kind: KindFailed, Left: []Proc{3}},
		{Kind: KindOutlived, Outlived: []Proc{3}},
		{Kind: KindExit, Exits: []Exit{{Code: -1, Signal: 9, Step: NoStep}}},
		{Kind: KindStop},
		{Kind: KindAsk, Ask: &demand.Demand{ID: "7", Cause: demand.Halt, Source: "craft halt", Left: demand.NoLimit, For: "x", Planned: true}},
		{Kind: KindHold, To: []Proc{2}, Hold: &demand.Hold{Serial: 3, Demands: []demand.Demand{{Source: "x", Left: time.Hour}}}},
		{Kind: KindPassed, Passed: &Passed{Procs: []Proc{1, 2}, Passed: demand.Passed{Serial: 3, Lanes: []demand.Position{{Calls: 7, Open: true}}}}},
		{Kind: KindMeet, Meet: &demand.Meet{Serial: 3, Lanes: []demand.Position{{Lane: "x", Calls: 8}}}},
	}
}

func TestMessagesTravel(t *testing.T) {
	var b bytes.Buffer
	for _, m := range samples() {
		require.NoError(t, WriteMessage(&b, m))
		require.True(t, bytes.HasSuffix(b.Bytes(), []byte("\n")), "who passes on whole lines passes on whole messages")
	}
	for _, m := range samples() {
		got, err := ReadMessage(&b)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	_, err := ReadMessage(&b)
	require.Equal(t, io.EOF, err)
}

// framed is the frame of a message that need not be valid.
func framed(t testing.TB, m Message) []byte {
	c := &coder{data: make([]byte, lengthBytes)}
	addressFields(c, &m)
	contentFields(c, &m)
	require.NoError(t, c.err)
	c.data = append(c.data, lineEnd)
	require.NoError(t, seal(m.Kind, c.data, 0))
	return c.data
}

// body is what stands between the length of a frame and its newline.
func body(frame []byte) []byte { return frame[lengthBytes : len(frame)-1] }

// frameOf is the frame of any bytes.
func frameOf(body []byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+1)), body...), lineEnd)
}

func TestInvalidMessages(t *testing.T) {
	world := func(procs ...Proc) *Group { return &Group{ID: 2, Procs: procs} }
	since := func(d Difference) *Group { return &Group{ID: 2, Since: &d} }
	setup := func(change func(*Setup)) Message {
		s := &Setup{Size: 1}
		change(s)
		return Message{Kind: KindSetup, Setup: s}
	}
	for _, m := range []Message{
		{Kind: KindHello}, {Kind: KindJoin}, {Kind: KindJoin, Joins: []Join{{}}},
		{Kind: KindJoin, Joins: []Join{{Op: OpSpawn, Seq: 3}}},
		{Kind: KindJoin, Joins: []Join{{Op: OpSpawn, Seq: OfLiving.Seq(0), Missing: []Original{-1}}}},
		{Kind: KindMade}, {Kind: KindMade, Made: &Made{}},
		{Kind: KindMade, Made: &Made{Op: OpShrink, New: &Group{Procs: []Proc{1}}}},
		{Kind: KindMade, Made: &Made{Op: OpShrink, New: world()}},
		{Kind: KindMade, Made: &Made{Op: OpShrink, New: world(1, 1)}},
		{Kind: KindMade, Made: &Made{Op: OpRepair, New: world(1), Change: &driver.Change{Ranks: []int{1}}}},
		{Kind: KindMade, Made: &Made{Op: OpRepair, Change: &driver.Change{Ranks: []int{0}}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpRepair, New: &Group{ID: 2, Procs: []Proc{1}, Since: &Difference{Of: 1}}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpRepair, New: since(Difference{Of: 1}), Change: &driver.Change{Ranks: []int{0}}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpRepair, New: since(Difference{Of: 1, Added: []Added{{0, 2}}}), Change: &driver.Change{}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpRepair, New: since(Difference{Of: 2})}},
		{Kind: KindMade, Made: &Made{New: since(Difference{})}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpShrink, New: since(Difference{Of: 1, Without: []Proc{1, 1}})}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpShrink, New: since(Difference{Of: 1, Without: []Proc{1}, Replaced: []Replaced{{1, 2}}})}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpShrink, New: since(Difference{Of: 1, Added: []Added{{0, 2}}, Replaced: []Replaced{{1, 2}}})}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpSpawn, New: since(Difference{Of: 1, Added: []Added{{1, 2}, {1, 3}}})}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpSpawn, New: since(Difference{Of: 1, Added: []Added{{-1, 2}}})}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpSpawn, New: since(Difference{Of: 1, Added: []Added{{MaxProcs, 2}}})}},
		{Kind: KindMade, Made: &Made{New: world(1), Stops: []int{9}}},
		{Kind: KindSignal, Signal: &Signal{}}, {Kind: KindSignal, Signal: &Signal{Number: 65}},
		{Kind: KindOutput, Output: &Output{Stream: 3, Data: []byte("x")}}, {Kind: KindOutput, Output: &Output{Stream: 1}},
		{Kind: KindCredit, Credit: -1}, {Kind: KindCredit},
		setup(func(s *Setup) { s.Size = 0 }), setup(func(s *Setup) { s.Node = -1 }), setup(func(s *Setup) { s.Timing.Lease = -1 }),
		{Kind: KindStart, Start: []Start{{Original: -2}}}, {Kind: KindStart}, {Kind: KindStarted},
		{Kind: KindFailed}, {Kind: KindPeers}, {Kind: KindPeers, Peers: []Peer{{Node: -1}}},
		{Kind: KindExit, Exits: []Exit{{Code: -2}}}, {Kind: KindExit, Exits: []Exit{{Signal: -2}}},
		{Kind: KindStop, To: make([]Proc, MaxProcs+1)},
	} {
		_, err := ReadMessage(bytes.NewReader(framed(t, m)))
		require.ErrorIs(t, err, ErrMessage, "%+v", m)
		require.ErrorIs(t, WriteMessage(io.Discard, m), ErrMessage, "%+v", m)
	}
	for _, m := range []Message{
		{Kind: "nonsense"},
		{Kind: KindJoin, Joins: []Join{{Op: "nonsense"}}},
		{Kind: KindMade, Made: &Made{Op: "nonsense"}},
		{Kind: KindMade, Made: &Made{Op: OpRepair, Err: "late", Ends: demand.Causes}},
		{Kind: KindError, Error: &Error{Text: string(make([]byte, maxString+1))}},
	} {
		require.ErrorIs(t, WriteMessage(io.Discard, m), ErrMessage)
	}
	peers := Message{Kind: KindPeers, Peers: make([]Peer, 17)}
	for i := range peers.Peers {
		peers.Peers[i].Address = string(make([]byte, maxString))
	}
	require.ErrorIs(t, WriteMessage(io.Discard, peers), ErrMessage)
}

// TestDamagedMessages: no byte of a message can be missing or too many, and what names nothing is refused.
func TestDamagedMessages(t *testing.T) {
	hello := body(framed(t, Message{Kind: KindHello, Hello: &Hello{Proc: 300, Address: "@x"}}))
	const version, kind, to, number, proc = 0, 1, 2, 3, 4
	damaged := map[string][]byte{
		"nothing":          nil,
		"JSON":             []byte(`{"kind":"stop"}`),
		"unknown kind":     damage(hello, kind, byte(len(kinds))),
		"unknown field":    damage(hello, number, 100),
		"count":            damage(hello, to, 200),
		"process":          slices.Concat(hello[:proc], []byte{255, 255, 255, 255, 31}, hello[proc+2:]),
		"endless number":   slices.Concat(hello[:proc], bytes.Repeat([]byte{255}, 11), hello[proc+2:]),
		"one byte more":    append(bytes.Clone(hello), 0),
		"a field twice":    append(bytes.Clone(hello), hello[number:]...),
		"length of a text": damage(hello, len(hello)-1, 1),
		"bool": append(body(framed(t, Message{Kind: KindStop})), body(framed(t, Message{
			Kind: KindRevoke, Revoke: &Revoke{Comm: 1},
		}))[number:]...),
	}
	damaged["bool"][len(damaged["bool"])-1] = 2
	for n := range hello {
		damaged[fmt.Sprintf("cut at %d", n)] = hello[:n]
	}
	for what, body := range damaged {
		_, err := ReadMessage(bytes.NewReader(frameOf(body)))
		require.ErrorIs(t, err, ErrMessage, what)
	}
	whole := frameOf(hello)
	_, err := ReadMessage(bytes.NewReader(whole))
	require.NoError(t, err)
	_, err = ReadMessage(bytes.NewReader(damage(whole, len(whole)-1, ' ')))
	require.ErrorIs(t, err, ErrMessage, "no newline")
	_, err = ReadMessage(bytes.NewReader(frameOf(damage(hello, version, Version+1))))
	require.ErrorIs(t, err, ErrVersion)
	require.ErrorContains(t, err, "build both from the same release")
}

// damage is a copy with another byte.
func damage(data []byte, at int, b byte) []byte {
	data = bytes.Clone(data)
	data[at] = b
	return data
}

func TestCutMessages(t *testing.T) {
	whole := framed(t, Message{Kind: KindStop})
	for n := 1; n < len(whole); n++ {
		_, err := ReadMessage(bytes.NewReader(whole[:n]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
	}
}

func TestFalseLengthTakesNoMemory(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, MaxMessage)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		_, err := ReadMessage(bytes.NewReader(head))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*1<<20))
	_, err := ReadMessage(bytes.NewReader(binary.BigEndian.AppendUint32(nil, MaxMessage+1)))
	require.ErrorIs(t, err, ErrMessage)
}

// TestFalseCountTakesNoMemory: neither does a false count of what is in a message, and the smallest elements of a
// right one take a small multiple of their bytes.
func TestFalseCountTakesNoMemory(t *testing.T) {
	const n = 1 << 20
	zeros := make([]byte, n)
	stop := body(framed(t, Message{Kind: KindStop}))
	field := func(number byte, count uint64) []byte {
		return frameOf(append(binary.AppendUvarint(append(bytes.Clone(stop), number), count), zeros...))
	}
	env := framed(t, Message{Kind: KindSetup, Setup: &Setup{Size: 1, Env: make([]osstring.String, n)}})
	for what, frame := range map[string][]byte{
		"joins": field(4, n), "exits": field(9, n), "peers": field(16, n), "failed": field(18, n), "failed, too many": field(18, n+1), "bequests": field(26, n),
		"too many": field(16, n+1), "right": env,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = ReadMessage(bytes.NewReader(frame))
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(80*n), what)
	}
}

// TestAllocations stands for the time that a pulse takes, which each rank and each daemon sends twice a second: the
// frame and the coder; the frame, the coder and the pulse.
func TestAllocations(t *testing.T) {
	m := Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1 << 40, Zone: 3, Step: 1 << 50, Left: time.Minute}}
	frame := framed(t, m)
	in := bytes.NewReader(frame)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = WriteMessage(io.Discard, m) }), 2.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		in.Reset(frame)
		_, _ = ReadMessage(in)
	}), 3.0)
}

func FuzzReadMessage(f *testing.F) {
	for _, m := range samples() {
		var b bytes.Buffer
		require.NoError(f, WriteMessage(&b, m))
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadMessage(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrMessage) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("unexpected error %v", err)
			}
			return
		}
		var b, c bytes.Buffer
		require.NoError(t, WriteMessage(&b, m))
		written := bytes.Clone(b.Bytes())
		again, err := ReadMessage(&b)
		require.NoError(t, err)
		require.Equal(t, m, again)
		require.NoError(t, WriteMessage(&c, again))
		require.Equal(t, written, c.Bytes())
	})
}

// FuzzMachines: no message makes the machines panic.
func FuzzMachines(f *testing.F) {
	for _, m := range []Message{
		{Kind: KindJoin, Joins: []Join{{Proc: 1, Comm: 1, Seq: OfLiving.Seq(0), Op: OpSpawn, Missing: []Original{0}}}},
		{Kind: KindExit, Exits: []Exit{{Proc: 1, Signal: 9}}},
		{Kind: KindMade, To: []Proc{4}, Made: &Made{Op: OpShrink, New: &Group{ID: 2, Procs: []Proc{4}}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpRepair, New: &Group{ID: 2, Since: &Difference{Of: 1, Replaced: []Replaced{{3, 5}}, Without: []Proc{4}}}, Change: &driver.Change{}}},
		{Kind: KindMade, Made: &Made{Comm: 1, Op: OpSpawn, New: &Group{ID: 2, Since: &Difference{Of: 1, Added: []Added{{1, 9}}}}}},
	} {
		f.Add(body(framed(f, m)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ReadMessage(bytes.NewReader(frameOf(body)))
		if err != nil {
			return
		}
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		for _, a := range s.r.Handle(s.now, 0, m) {
			if a.Send != nil {
				require.NoError(t, a.Send.Message.Validate())
			}
		}
		d := newDaemonScript(t)
		d.root(m)
		d.rank(4, m)
	})
}
