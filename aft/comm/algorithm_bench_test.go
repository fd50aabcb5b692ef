package comm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/craft-go/craft/aft/comm"
)

// BenchmarkAlgorithms compares the algorithms of a collective side by side, by
// ranks and bytes of each rank. The postroom's single lock and its wake-ups of
// about a microsecond are far from a network, so that it shows what an algorithm
// copies and computes; what it sends is in TestCost.
func BenchmarkAlgorithms(b *testing.B) {
	algorithms := []struct {
		name   string
		call   onFloats
		powers bool // only for powers of two
		shared bool // out has the data of all ranks
		most   int  // bytes
	}{
		{name: "allreduce/gathered", call: comm.AllreduceGathered, most: 64 << 10},
		{name: "allreduce/blocks", call: comm.AllreduceBlocks, most: 4 << 20},
		{name: "allreduce/doubling", call: comm.AllreduceDoubling, most: 1 << 20},
		{name: "allreduce/halving", call: comm.AllreduceHalving, powers: true, most: 4 << 20},
		{name: "reduce/tree", call: comm.ReduceTree, most: 4 << 20},
		{name: "reduce/blocks", call: comm.ReduceBlocks, most: 4 << 20},
		{name: "bcast/binomial", call: comm.BcastBinomial, most: 4 << 20},
		{name: "bcast/chain", call: comm.BcastChain, most: 4 << 20},
		{name: "allgather/swap", call: comm.AllgatherSwap, shared: true, most: 1 << 20},
		{name: "allgather/ring", call: comm.AllgatherRing, shared: true, most: 1 << 20},
		{name: "gather/direct", call: comm.GatherDirect, shared: true, most: 32 << 10},
		{name: "gather/tree", call: comm.GatherTree, shared: true, most: 32 << 10},
	}
	for _, a := range algorithms {
		for _, n := range []int{2, 4, 8, 16, 32} {
			for _, size := range []int{8, 1 << 10, 8 << 10, 32 << 10, 128 << 10, 1 << 20, 4 << 20} {
				if size > a.most || a.powers && n&(n-1) != 0 {
					continue
				}
				b.Run(fmt.Sprintf("%s/ranks=%d/bytes=%d", a.name, n, size), func(b *testing.B) {
					all := 1
					if a.shared {
						all = n
					}
					benchmark(b, n, size/8, all*size/8, a.call)
				})
			}
		}
	}
}

func benchmark(b *testing.B, n, in, out int, call onFloats) {
	ins, outs := make([][]float64, n), make([][]float64, n)
	for r := range n {
		ins[r], outs[r] = make([]float64, in), make([]float64, out)
	}
	b.SetBytes(int64(8 * in))
	err := (&postroom{eager: 64 << 10}).run(b.Context(), n, func(ctx context.Context, c *comm.Comm) error {
		for i := range b.N + 1 {
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			if i == 1 && c.Rank() == 0 { // all has been touched once
				b.ResetTimer()
			}
			if err := call(ctx, c, ins[c.Rank()], outs[c.Rank()]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
