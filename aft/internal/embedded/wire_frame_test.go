package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
	"github.com/craft-go/craft/internal/testseed"
)

var goodFrames = []frame{
	{kind: frameEager, comm: 1, source: 2, tag: -5, length: 8},
	{kind: frameEager, comm: 1 << 40, source: 0, tag: 1 << 40, length: wireEager},
	{kind: frameRTS, comm: 1, source: 2, tag: 3, length: 1 << 40, send: 1},
	{kind: frameCTS, send: 1, recv: 2, length: 0},
	{kind: frameData, recv: 2, length: wirePiece},
	{kind: frameCancel, send: 1},
	{kind: frameNack, recv: 1},
	{kind: frameCredit, length: wireWindow},
	{kind: frameBye},
}

func TestFrames(t *testing.T) {
	var b [frameSize]byte
	for _, f := range goodFrames {
		got, err := decodeFrame(f.encode(&b))
		require.NoError(t, err, "%+v", f)
		require.Equal(t, f, got)
	}
	for _, f := range []frame{
		{},
		{kind: frameBye + 1},
		{kind: frameEager, length: wireEager + 1},
		{kind: frameEager, length: -1},
		{kind: frameEager, source: -1},
		{kind: frameEager, send: 1},
		{kind: frameRTS},
		{kind: frameCTS, send: 1},
		{kind: frameCTS, recv: 1},
		{kind: frameCTS, send: 1, recv: 1, tag: 1},
		{kind: frameData, length: 1},
		{kind: frameData, recv: 1, length: wirePiece + 1},
		{kind: frameCancel},
		{kind: frameNack, send: 1},
		{kind: frameCredit},
		{kind: frameCredit, length: wireWindow + 1},
		{kind: frameBye, comm: 1},
	} {
		_, err := decodeFrame(f.encode(&b))
		require.ErrorIs(t, err, errFrame, "%+v", f)
	}
}

func FuzzFrame(f *testing.F) {
	for _, g := range goodFrames {
		var b [frameSize]byte
		f.Add(g.encode(&b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != frameSize {
			return
		}
		g, err := decodeFrame(b)
		if err != nil {
			require.ErrorIs(t, err, errFrame)
			return
		}
		var out [frameSize]byte
		require.Equal(t, b, g.encode(&out))
	})
}

// TestFramesAtTheWrongTime come from a process of the job that does not keep to
// the protocol: it is suspected, and nothing else happens.
func TestFramesAtTheWrongTime(t *testing.T) {
	eager := frame{kind: frameEager, comm: 1, source: 2, tag: 1, length: wireEager}
	for name, frames := range map[string][]frame{
		"nonsense":                      {{kind: 77}},
		"data for nobody":               {{kind: frameData, recv: 1, length: 1}},
		"credit for nothing":            {{kind: frameCredit, length: 1}},
		"an answer to nothing":          {{kind: frameCTS, send: 1, recv: 1}},
		"an answer to an unsent one":    {{kind: frameCTS, send: 5, recv: 1}},
		"taking back what is not there": {{kind: frameCancel, send: 1}},
		"giving back what is not there": {{kind: frameNack, recv: 1}},
		"a word after the goodbye":      {{kind: frameBye}, {kind: frameBye}},
		"the same announced twice": {
			{kind: frameRTS, comm: 1, source: 2, length: 1, send: 1}, {kind: frameRTS, comm: 1, source: 2, length: 1, send: 1},
		},
		"more than the window": {eager, eager, eager, eager, eager, eager, eager, eager, eager, eager, eager, eager,
			eager, eager, eager, eager, eager},
	} {
		t.Run(name, func(t *testing.T) {
			a, peer := startNode(t, 1, t.Name(), nil)
			for _, talks := range []bool{false, true} {
				proc := control.Proc(2)
				if talks { // a has sent something to it, and has a link
					proc = 3
					a.isend(proc, 1, make([]byte, 100_000))
				}
				cfg := a.wire.cfg.Config
				cfg.Self = uint32(proc)
				w, errs := pipe.Dial(t.Context(), cfg, 1, []pipe.Address{{Network: "unix", Address: peer.Address}})
				require.NoError(t, errs[0])
				var b [frameSize]byte
				for _, f := range frames {
					body := make([]byte, 0)
					if f.kind == frameEager {
						body = make([]byte, f.length)
					}
					writeAll(t, w, f.encode(&b), body)
				}
				select {
				case p := <-a.suspects:
					require.Equal(t, proc, p)
				case <-time.After(wireDeadline):
					require.FailNow(t, "nobody is suspected")
				}
				w.Close()
			}
		})
	}
}

// writeAll writes to a reader that reads.
func writeAll(t *testing.T, w *pipe.Writer, head, body []byte) {
	ctx, cancel := context.WithTimeout(t.Context(), wireDeadline)
	defer cancel()
	for len(head)+len(body) > 0 && ctx.Err() == nil {
		n, err := w.TryWrite(head, body)
		if err != nil {
			return // it has had enough
		}
		k := min(n, len(head))
		head, body = head[k:], body[n-k:]
	}
}

// TestRandomFrames: whatever a process of the job sends, nobody panics and the
// link ends or lives.
func TestRandomFrames(t *testing.T) {
	random := testseed.Rand(t)
	a, peer := startNode(t, 1, t.Name(), nil)
	for proc := control.Proc(2); proc < 60; proc++ {
		if proc%2 == 0 {
			a.isend(proc, 1, make([]byte, 100_000))
		}
		a.irecv(2, 3, make([]byte, random.IntN(2000)))
		cfg := a.wire.cfg.Config
		cfg.Self = uint32(proc)
		w, errs := pipe.Dial(t.Context(), cfg, 1, []pipe.Address{{Network: "unix", Address: peer.Address}})
		require.NoError(t, errs[0])
		for range 50 {
			f := frame{kind: frameKind(1 + random.IntN(int(frameBye)-1))}
			small := func() uint64 { return uint64(random.IntN(4)) }
			switch f.kind {
			case frameEager, frameRTS:
				f.comm, f.source, f.tag, f.length = 1, 2, 3, random.IntN(2000)
				if f.kind == frameRTS {
					f.send = small()
				}
			case frameCTS:
				f.send, f.recv, f.length = small(), small(), random.IntN(2)*100_000
			case frameData, frameNack:
				f.recv = small()
				if f.kind == frameData {
					f.length = random.IntN(2000)
				}
			case frameCancel:
				f.send = small()
			case frameCredit:
				f.length = random.IntN(300)
			}
			var b [frameSize]byte
			var body []byte
			if f.kind == frameEager || f.kind == frameData {
				body = make([]byte, f.length)
			}
			writeAll(t, w, f.encode(&b), body)
		}
		w.Close()
		<-a.suspects // for what it sent, or because it went without a word
	}
	a.wire.close()
}
