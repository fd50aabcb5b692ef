package sparse_test

import (
	"testing"
	"time"

	"github.com/craft-go/craft/examples/lanczos/sparse"
	"github.com/stretchr/testify/require"
)

// million is a periodic honeycomb of 10^6 rows with three entries each, or
// four with a diagonal.
func million(b *testing.B, diagonal bool) *sparse.CSR {
	const nx, ny = 1000, 500
	build, err := sparse.NewBuilder(2*nx*ny, 2*nx*ny, 8*nx*ny)
	require.NoError(b, err)
	site := func(x, y, s int) int32 { return int32(2*((y+ny)%ny*nx+(x+nx)%nx) + s) }
	for y := range ny {
		for x := range nx {
			for s := range 2 {
				if diagonal {
					build.Put(site(x, y, s), 0.1)
				}
				step := 2*s - 1
				build.Put(site(x, y, 1-s), -1)
				build.Put(site(x+step, y, 1-s), -1)
				build.Put(site(x, y+step, 1-s), -1)
				require.NoError(b, build.EndRow())
			}
		}
	}
	return build.Matrix()
}

// filled touches every page: pages that were never written to are all backed
// by one page of zeros, and reading them costs no bandwidth.
func filled(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1 / float64(i+1)
	}
	return v
}

const triadLength = 8 << 20 // three vectors of 64 MiB

func BenchmarkTriad(b *testing.B) {
	team := sparse.NewTeam(0)
	x, y, z := filled(triadLength), filled(triadLength), filled(triadLength)
	b.SetBytes(sparse.TriadTraffic(triadLength))
	for b.Loop() {
		sparse.Triad(team, x, y, z, 1.5)
	}
}

// BenchmarkSpMV measures the product and, in turn with it, the triad, so that
// a busy machine slows both. Its metrics are the best of each and their ratio.
func BenchmarkSpMV(b *testing.B) {
	team := sparse.NewTeam(0)
	p, q, r := filled(triadLength), filled(triadLength), filled(triadLength)
	for _, c := range []struct {
		name     string
		diagonal bool
	}{{"clean", false}, {"disorder", true}} {
		b.Run(c.name, func(b *testing.B) {
			m := million(b, c.diagonal)
			x, y := filled(m.Columns), filled(m.Rows())
			var triad, product float64
			best := func(rate *float64, bytes int64, run func()) {
				start := time.Now()
				run()
				*rate = max(*rate, float64(bytes)/time.Since(start).Seconds())
			}
			b.SetBytes(m.Traffic())
			for b.Loop() {
				best(&product, m.Traffic(), func() { m.Mul(team, y, x) })
				b.StopTimer()
				best(&triad, sparse.TriadTraffic(triadLength), func() { sparse.Triad(team, p, q, r, 1.5) })
				b.StartTimer()
			}
			b.ReportMetric(triad/1e9, "triad-GB/s")
			b.ReportMetric(product/1e9, "spmv-GB/s")
			b.ReportMetric(100*product/triad, "%triad")
		})
	}
}
