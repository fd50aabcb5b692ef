package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
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
	}
}

func TestMessagesTravel(t *testing.T) {
	var b bytes.Buffer
	for _, m := range samples() {
		require.NoError(t, WriteMessage(&b, m))
		require.True(t, bytes.HasSuffix(b.Bytes(), []byte("}\n")), "who passes on whole lines passes on whole messages")
	}
	for _, m := range samples() {
		got, err := ReadMessage(&b)
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	_, err := ReadMessage(&b)
	require.Equal(t, io.EOF, err)
}

func framed(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestWrongMessages(t *testing.T) {
	for _, body := range []string{
		``, `x`, `{}`, `{"kind":"nonsense"}`, `{"kind":"hello"}`, `{"kind":"join"}`, `{"kind":"join","joins":[{"op":"x"}]}`,
		`{"kind":"made","made":{}}`, `{"kind":"made","made":{"op":"shrink","new":{"id":0,"procs":[1]}}}`,
		`{"kind":"made","made":{"op":"shrink","new":{"id":2,"procs":[1,1]}}}`,
		`{"kind":"made","made":{"op":"repair","new":{"id":2,"procs":[1]},"change":{"ranks":[1]}}}`,
		`{"kind":"made","made":{"op":"repair","change":{"ranks":[0]}}}`,
		`{"kind":"made","made":{"op":"repair","comm":1,"new":{"id":2}}}`,
		`{"kind":"made","made":{"op":"repair","comm":1,"new":{"id":2,"procs":[1],"since":{"of":1}}}}`,
		`{"kind":"made","made":{"op":"repair","comm":1,"new":{"id":2,"since":{"of":1}},"change":{"ranks":[0]}}}`,
		`{"kind":"made","made":{"op":"repair","comm":1,"new":{"id":2,"since":{"of":1,"added":[{"rank":0,"proc":2}]}},"change":{}}}`,
		`{"kind":"made","made":{"op":"repair","comm":1,"new":{"id":3,"since":{"of":2}}}}`,
		`{"kind":"made","made":{"new":{"id":2,"since":{"of":0}}}}`,
		`{"kind":"made","made":{"op":"shrink","comm":1,"new":{"id":2,"since":{"of":1,"without":[1,1]}}}}`,
		`{"kind":"made","made":{"op":"shrink","comm":1,"new":{"id":2,"since":{"of":1,"without":[1],"replaced":[{"proc":1,"by":2}]}}}}`,
		`{"kind":"made","made":{"op":"shrink","comm":1,"new":{"id":2,"since":{"of":1,"added":[{"rank":0,"proc":2}],"replaced":[{"proc":1,"by":2}]}}}}`,
		`{"kind":"made","made":{"op":"spawn","comm":1,"new":{"id":2,"since":{"of":1,"added":[{"rank":1,"proc":2},{"rank":1,"proc":3}]}}}}`,
		`{"kind":"made","made":{"op":"spawn","comm":1,"new":{"id":2,"since":{"of":1,"added":[{"rank":-1,"proc":2}]}}}}`,
		`{"kind":"made","made":{"op":"spawn","comm":1,"new":{"id":2,"since":{"of":1,"added":[{"rank":65536,"proc":2}]}}}}`,
		`{"kind":"made","made":{"new":{"id":2,"procs":[1]},"stops":[9]}}`,
		`{"kind":"signal","signal":{"number":0}}`, `{"kind":"signal","signal":{"number":65}}`,
		`{"kind":"output","output":{"stream":3,"data":"eA=="}}`, `{"kind":"credit","credit":-1}`, `{"kind":"credit"}`,
		`{"kind":"setup","setup":{"size":0}}`, `{"kind":"setup","setup":{"size":1,"node":-1}}`,
		`{"kind":"setup","setup":{"size":1,"timing":{"lease":-1}}}`, `{"kind":"start","start":[{"original":-2}]}`,
		`{"kind":"start"}`, `{"kind":"failed"}`, `{"kind":"peers"}`, `{"kind":"peers","peers":[{"node":-1}]}`,
		`{"kind":"exit","exits":[{"code":-2}]}`, `{"kind":"exit","exits":[{"signal":-2}]}`, `{"kind":"started"}`,
		`{"kind":"hello","hello":{"proc":-1}}`, `{"kind":"join","joins":[{"op":"spawn","seq":1152921504606846976,"missing":[-1]}]}`,
		`{"kind":"join","joins":[{"op":"spawn","seq":3}]}`,
	} {
		_, err := ReadMessage(bytes.NewReader(framed(body)))
		require.ErrorIs(t, err, ErrMessage, body)
	}
	require.ErrorIs(t, WriteMessage(io.Discard, Message{Kind: KindHello}), ErrMessage)
	big := Message{Kind: KindError, Error: &Error{Text: string(make([]byte, maxString+1))}}
	require.ErrorIs(t, WriteMessage(io.Discard, big), ErrMessage)
	peers := Message{Kind: KindPeers, Peers: make([]Peer, 400)}
	for i := range peers.Peers {
		peers.Peers[i].Address = string(make([]byte, 10_000)) // 6 bytes each as JSON
	}
	require.ErrorIs(t, WriteMessage(io.Discard, peers), ErrMessage)
}

func TestCutMessages(t *testing.T) {
	whole := framed(`{"kind":"stop"}`)
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
		require.NoError(t, WriteMessage(&c, again))
		require.Equal(t, written, c.Bytes())
	})
}

// FuzzMachines: no message makes the machines panic.
func FuzzMachines(f *testing.F) {
	f.Add([]byte(`{"kind":"join","joins":[{"proc":1,"comm":1,"seq":1152921504606846976,"op":"spawn","missing":[0]}]}`))
	f.Add([]byte(`{"kind":"exit","exits":[{"proc":1,"signal":9}]}`))
	f.Add([]byte(`{"kind":"made","to":[4],"made":{"op":"shrink","new":{"id":2,"procs":[4]}}}`))
	f.Add([]byte(`{"kind":"made","made":{"comm":1,"op":"repair","new":{"id":2,"since":{"of":1,"replaced":[{"proc":3,"by":5}],"without":[4]}},"change":{}}}`))
	f.Add([]byte(`{"kind":"made","made":{"comm":1,"op":"spawn","new":{"id":2,"since":{"of":1,"added":[{"rank":1,"proc":9}]}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ReadMessage(bytes.NewReader(framed(string(body))))
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
