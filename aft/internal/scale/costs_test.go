package scale

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
)

// BenchmarkCosts measures what Default says, on the machine that it runs on: times of a message for both
// ends together, over a pipe; encoding; bytes to the system; and the start of a process that ends at once.
func BenchmarkCosts(b *testing.B) {
	large := control.Message{Kind: control.KindMade, Made: &control.Made{New: &control.Group{ID: 1}}}
	for p := range control.Proc(10_000) {
		large.Made.New.Procs = append(large.Made.New.Procs, p)
	}
	small := control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: 1, Left: Timing.Lease}}
	var framed bytes.Buffer
	require.NoError(b, control.WriteMessage(&framed, large))
	data := framed.Bytes()
	measure := func(b *testing.B, bytes int, do func()) {
		runtime.LockOSThread() // whose time is taken: others may keep the machine busy
		defer runtime.UnlockOSThread()
		before := threadTime()
		for b.Loop() {
			do()
		}
		each := float64(threadTime()-before) / float64(b.N)
		b.ReportMetric(0, "ns/op")
		if bytes > 0 {
			b.ReportMetric(each/float64(bytes), "cpu-ns/byte")
			return
		}
		b.ReportMetric(each/1000, "cpu-us/op")
	}
	b.Run("encode", func(b *testing.B) {
		measure(b, len(data), func() { _ = control.WriteMessage(io.Discard, large) })
	})
	b.Run("decode", func(b *testing.B) {
		measure(b, len(data), func() { _, _ = control.ReadMessage(bytes.NewReader(data)) })
	})
	b.Run("copy", func(b *testing.B) {
		r, w := pipe(b)
		go func() { _, _ = io.Copy(io.Discard, r) }()
		measure(b, len(data), func() { _, _ = w.Write(data) })
	})
	b.Run("message", func(b *testing.B) {
		r, w := pipe(b)
		in := bufio.NewReader(r)
		measure(b, 0, func() {
			_ = control.WriteMessage(w, small)
			_, _ = control.ReadMessage(in)
		})
	})
	b.Run("difference", func(b *testing.B) {
		shrunk := control.Made{Op: control.OpShrink, New: &control.Group{ID: 2, Since: &control.Difference{Of: 1, Without: large.Made.New.Procs[5000:5001]}}}
		measure(b, len(large.Made.New.Procs), func() { _, _ = shrunk.Whole(large.Made.New.Procs) }) // a member, not a byte
	})
	b.Run("process", func(b *testing.B) {
		measure(b, 0, func() { _ = exec.Command("/bin/true").Run() })
	})
}

func pipe(b *testing.B) (r, w *os.File) {
	r, w, err := os.Pipe()
	require.NoError(b, err)
	b.Cleanup(func() {
		require.NoError(b, w.Close())
		require.NoError(b, r.Close())
	})
	return r, w
}
