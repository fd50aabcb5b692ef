package container

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkDelta writes versions in which 1 % of the chunks changed into a new
// file, beside full ones of the same values.
func BenchmarkDelta(b *testing.B) {
	raw := noise.bytes(rand.New(rand.NewPCG(1, 0)), benchBytes(b))
	path := benchPath(b)
	for _, chunkSize := range []int{64 << 10, 256 << 10, 1 << 20} {
		e := newTestEncoder(b, Options{ChunkSize: chunkSize, Compression: Off})
		sections := benchSections(raw, 10)
		h := someHeader()
		run := func(name string, d *Delta) {
			b.Run(fmt.Sprintf("%s/chunk=%dKiB", name, chunkSize>>10), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				bytes := int64(0)
				for b.Loop() {
					b.StopTimer()
					require.NoError(b, os.RemoveAll(path))
					for at := 0; at < len(raw); at += 100 * chunkSize {
						raw[at+rand.IntN(chunkSize)]++
					}
					b.StartTimer()
					out, err := os.Create(path)
					require.NoError(b, err)
					h.Version++
					stats, err := e.EncodeDelta(context.Background(), out, h, sections, d, 0)
					require.NoError(b, err)
					require.NoError(b, out.Close())
					if d != nil {
						d.Keep(h.Version, allPromises)
					}
					bytes = stats.FileBytes
				}
				b.ReportMetric(100*float64(bytes)/float64(len(raw)), "%space")
			})
		}
		d := NewDelta()
		_, err := e.EncodeDelta(context.Background(), new(hookedWriter), h, sections, d, 0)
		require.NoError(b, err)
		d.Keep(h.Version, allPromises)
		run("full", nil)
		run("delta", d)
	}
}
