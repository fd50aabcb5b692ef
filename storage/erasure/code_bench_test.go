package erasure

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/reedsolomon"
	"github.com/stretchr/testify/require"
)

// BenchmarkCode compares the parity of a stripe, made block by block as receivers do
// when the blocks of the members arrive, with the library's own Encode of the same
// stripe, on one core:
//
//	%all     all parities of the stripe. The library reads the data once for all
//	         of them; the holders, each on a node of its own, cannot.
//	%holder  the one parity that a holder makes, by both.
//
// They take turns, and the medians count, because other work on the machine
// disturbs all of them.
func BenchmarkCode(b *testing.B) {
	const block = defaultBlock
	for _, l := range []Layout{{4, 1, block}, {4, 2, block}, {8, 1, block}, {8, 2, block}, {16, 3, block}} {
		b.Run(fmt.Sprintf("%d+%d", l.Data(), l.Parity), func(b *testing.B) {
			shards := make([][]byte, l.Members)
			for i := range shards {
				shards[i] = make([]byte, block)
				for j := range shards[i] {
					shards[i][j] = byte(i*j + j>>8)
				}
			}
			library, err := reedsolomon.New(l.Data(), l.Parity, reedsolomon.WithMaxGoroutines(1), reedsolomon.WithFastOneParityMatrix())
			require.NoError(b, err)
			code, err := NewCode(l)
			require.NoError(b, err)
			last := l.Parity - 1
			one, err := rowOf(l.Data(), code.rows[last])
			require.NoError(b, err)
			lone := append(slices.Clone(shards[:l.Data()]), shards[l.Members-1])
			all := func() error {
				for row := range l.Parity {
					addRow(code, shards, row)
				}
				return nil
			}
			took := takeTurns(b, func() error { return library.Encode(shards) }, all,
				func() error { return one.Encode(lone) }, func() error { addRow(code, shards, last); return nil })
			b.ReportMetric(0, "ns/op") // of all together: no use
			b.ReportMetric(float64(l.Data()*block)/1e9/took[0], "library-GB/s")
			b.ReportMetric(100*took[0]/took[1], "%all")
			b.ReportMetric(100*took[2]/took[3], "%holder")
		})
	}
}

// takeTurns returns the median of the seconds that each takes.
func takeTurns(b *testing.B, all ...func() error) []float64 {
	took := make([][]time.Duration, len(all))
	for b.Loop() {
		for i, f := range all {
			start := time.Now()
			err := f()
			took[i] = append(took[i], time.Since(start))
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	medians := make([]float64, len(all))
	for i, times := range took {
		slices.Sort(times)
		medians[i] = times[len(times)/2].Seconds()
	}
	return medians
}

// addRow makes one parity block of stripe 0.
func addRow(c *Code, shards [][]byte, row int) {
	l := c.layout
	clear(shards[l.Data()+row])
	for column := range l.Data() {
		addBlock(c, 0, l.Giver(0, column), shards[column], l.Holder(0, row), shards[l.Data()+row])
	}
}
