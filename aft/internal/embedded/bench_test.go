package embedded_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/embedded"
)

// onRanks runs body on n ranks and measures it on rank 0.
func onRanks(b *testing.B, n int, body func(ctx context.Context, c *comm.Comm) error) {
	b.Helper()
	b.ReportAllocs()
	err := runTyped(b.Context(), n, func(ctx context.Context, c *comm.Comm) error {
		if err := body(ctx, c); err != nil { // first touch of everything
			return err
		}
		if err := comm.Barrier(ctx, c); err != nil {
			return err
		}
		if c.Rank() == 0 {
			b.ResetTimer()
		}
		for range b.N {
			if err := body(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func pingPong(ctx context.Context, c *comm.Comm, data []byte) error {
	peer := 1 - c.Rank()
	if c.Rank() == 0 {
		if err := comm.Send(ctx, c, peer, 0, data); err != nil {
			return err
		}
	}
	if _, _, err := comm.Recv(ctx, c, peer, 0, data); err != nil {
		return err
	}
	if c.Rank() == 1 {
		return comm.Send(ctx, c, peer, 0, data)
	}
	return nil
}

// BenchmarkPingPong: half of the time per operation is the latency; the bytes
// per second are those of one direction.
func BenchmarkPingPong(b *testing.B) {
	for _, size := range []int{8, 4 << 10, 64 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			b.SetBytes(2 * int64(size))
			buffers := [2][]byte{make([]byte, size), make([]byte, size)}
			onRanks(b, 2, func(ctx context.Context, c *comm.Comm) error {
				return pingPong(ctx, c, buffers[c.Rank()])
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/message")
		})
	}
}

func BenchmarkAllreduce(b *testing.B) {
	for _, length := range []int{1, 1000, 1e6} {
		for _, n := range []int{2, 4, 8} {
			b.Run(fmt.Sprintf("float64=%d/ranks=%d", length, n), func(b *testing.B) {
				in, out := make([][]float64, n), make([][]float64, n)
				for r := range n {
					in[r], out[r] = make([]float64, length), make([]float64, length)
				}
				b.SetBytes(int64(8 * length))
				onRanks(b, n, func(ctx context.Context, c *comm.Comm) error {
					return comm.Allreduce(ctx, c, in[c.Rank()], out[c.Rank()], comm.Sum)
				})
			})
		}
	}
}

func BenchmarkBarrier(b *testing.B) {
	for _, n := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("ranks=%d", n), func(b *testing.B) {
			onRanks(b, n, comm.Barrier)
		})
	}
}

func BenchmarkBcast(b *testing.B) {
	const size = 4 << 20
	for _, n := range []int{2, 8} {
		b.Run(fmt.Sprintf("bytes=%d/ranks=%d", size, n), func(b *testing.B) {
			data := make([][]byte, n)
			for r := range n {
				data[r] = make([]byte, size)
			}
			b.SetBytes(size)
			onRanks(b, n, func(ctx context.Context, c *comm.Comm) error {
				return comm.Bcast(ctx, c, 0, data[c.Rank()])
			})
		})
	}
}

// BenchmarkRepair is a repair after a revocation: what it costs to keep many ranks.
func BenchmarkRepair(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("ranks=%d", n), func(b *testing.B) {
			require.NoError(b, embedded.RunInproc(b.Context(), embedded.InprocConfig{Ranks: n}, func(ctx context.Context, r *embedded.InprocRank) error {
				s := r.Session()
				for range b.N {
					if _, err := s.Repair(ctx, driver.Policy{}); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}
