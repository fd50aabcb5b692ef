package commtest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// A body ends with the first collective that has failed, as a program does: a failure
// leaves it unfinished, and the messages of the next one would be taken for its own.
var collectiveTrials = []trial{
	{"barrier", 1, barrier},
	{"bcast", 1, bcast},
	{"bcast bytes", 1, bcastBytes},
	{"reduce", 1, reduce},
	{"allreduce", 1, allreduce},
	{"allreduce in any order", 1, allreduceAnyOrder},
	{"ops", 1, ops},
	{"gather", 1, gather},
	{"gatherv", 1, gatherv},
	{"allgather", 1, allgather},
	{"allgatherv", 1, allgatherv},
	{"scatter", 1, scatter},
	{"scatterv", 1, scatterv},
	{"alltoallv", 1, alltoallv},
	{"sparse alltoallv", 1, sparse},
	{"sparse alltoallv, refused", 1, sparseRefused},
}

// elements are numbers of float64: none, one, the length of a collective's own
// control messages (4), and some on both sides of every change of algorithm.
func elements(c *comm.Comm) []int {
	n := []int{0, 1, 3, 4, 5, 100, 1000}
	switch {
	case c.Size() <= 3:
		return append(n, 33_333, 270_011) // 2.1 MiB: three segments of a reduction
	case c.Size() <= 5:
		return append(n, 33_333)
	}
	return append(n, 9_001)
}

// sample is reproducible data of one rank, with rounding in every sum.
func sample(r comm.Rank, length int) []float64 {
	v := make([]float64, length)
	x := uint64(r)<<32 + uint64(length)
	for i := range v {
		x = x*6364136223846793005 + 1442695040888963407
		v[i] = float64(int64(x)>>11) * float64(1+x>>60)
	}
	return v
}

// whole is like sample, with integers: their sums are exact.
func whole(r comm.Rank, length int) []float64 {
	v := sample(r, length)
	for i := range v {
		v[i] = float64(int64(v[i]) >> 24)
	}
	return v
}

// forRoots tries each number of elements with some roots.
func forRoots(c *comm.Comm, try func(length int, root comm.Rank) error) error {
	return forLengths(elements(c), "elements", func(length int) error {
		for _, root := range roots(c) {
			if err := try(length, root); err != nil {
				return fmt.Errorf("root %d: %w", root, err)
			}
		}
		return nil
	})
}

func roots(c *comm.Comm) []comm.Rank {
	last := comm.Rank(c.Size() - 1)
	return slices.Compact([]comm.Rank{0, last / 2, last})
}

// barrier: rank r must not pass barrier i before all have entered it, so what
// they sent before is there afterwards.
func barrier(ctx context.Context, c *comm.Comm) error {
	late := comm.Rank(0)
	for i := range 2 * c.Size() {
		var v [1]int
		recv := comm.Irecv(c, late, 1, v[:])
		if c.Rank() == late {
			for r := range comm.Rank(c.Size()) {
				check(comm.Send(ctx, c, r, 1, []int{i}))
			}
		}
		check(comm.Barrier(ctx, c))
		must(recv.Wait(ctx))
		check(equal("round", v[0], i))
		late = (late + 1) % comm.Rank(c.Size())
	}
	return nil
}

func bcast(ctx context.Context, c *comm.Comm) error {
	try := func(length int, root comm.Rank) error {
		data := sample(c.Rank(), length)
		err := comm.Bcast(ctx, c, root, data)
		return first(err, equalSlices("data", data, sample(root, length)))
	}
	check(forRoots(c, try))
	// In segments, also in large groups, and in enough of them for a chain.
	check(try(77_777, 0))
	return try(222_222, comm.Rank(c.Size()-1))
}

func bcastBytes(ctx context.Context, c *comm.Comm) error {
	return forLengths([]int{0, 1, 32, 1015, 1016, 1017, 300 << 10}, "bytes", func(length int) error {
		for _, root := range roots(c) {
			var data []byte
			if c.Rank() == root {
				data = pattern(root, 0, length)
			}
			got, err := comm.BcastBytes(ctx, c, root, data)
			check(err, equalSlices("data", got, pattern(root, 0, length)))
		}
		return nil
	})
}

// fold is the sum from rank 0 upwards.
func fold(c *comm.Comm, data func(comm.Rank, int) []float64, length int) []float64 {
	acc := data(0, length)
	for r := 1; r < c.Size(); r++ {
		for i, v := range data(comm.Rank(r), length) {
			acc[i] += v
		}
	}
	return acc
}

func reduce(ctx context.Context, c *comm.Comm) error {
	try := func(length int, root comm.Rank) error {
		in := whole(c.Rank(), length)
		if c.Rank() != root {
			return first(
				comm.Reduce(ctx, c, root, in, nil, comm.Sum),
				equalSlices("in", in, whole(c.Rank(), length)))
		}
		err := comm.Reduce(ctx, c, root, in, in, comm.Sum)
		return first(err, equalSlices("out", in, fold(c, whole, length)))
	}
	check(forRoots(c, try))
	// In blocks, also in large groups.
	check(try(70_001, 0))
	return try(140_001, comm.Rank(c.Size()-1))
}

func allreduce(ctx context.Context, c *comm.Comm) error {
	return forLengths(elements(c), "elements", func(length int) error {
		in, out := sample(c.Rank(), length), make([]float64, length)
		want := fold(c, sample, length)
		check(
			comm.Allreduce(ctx, c, in, out, comm.Sum),
			equalSlices("in", in, sample(c.Rank(), length)),
			equalSlices("out", out, want))
		return first(comm.Allreduce(ctx, c, in, in, comm.Sum), equalSlices("in place", in, want))
	})
}

// allreduceAnyOrder: what is exact has the same value in any order, and what is
// rounded the same bits on all ranks.
func allreduceAnyOrder(ctx context.Context, c *comm.Comm) error {
	return forLengths(elements(c), "elements", func(length int) error {
		in, out := whole(c.Rank(), length), make([]float64, length)
		exact := fold(c, whole, length)
		check(
			comm.Allreduce(ctx, c, in, out, comm.Sum, comm.AnyOrder),
			equalSlices("in", in, whole(c.Rank(), length)),
			equalSlices("out", out, exact))
		check(comm.Allreduce(ctx, c, in, in, comm.Sum, comm.AnyOrder), equalSlices("in place", in, exact))
		check(comm.Allreduce(ctx, c, sample(c.Rank(), length), out, comm.Sum, comm.AnyOrder))
		of0 := slices.Clone(out)
		return first(comm.Bcast(ctx, c, 0, of0), equalSlices("rounded, with rank 0", out, of0))
	})
}

// ops checks each operation against its definition on bytes-sized values.
func ops(ctx context.Context, c *comm.Comm) error {
	n := c.Size()
	var sum, prod, lo, hi, and, or, xor = 0, 1, 1000, -1000, -1, 0, 0
	for r := range n {
		v := opValue(r)
		sum, prod, lo, hi = sum+v, prod*v, min(lo, v), max(hi, v)
		and, or, xor = and&v, or|v, xor^v
	}
	v := opValue(int(c.Rank()))
	cases := []struct {
		name string
		op   comm.Op[int]
		want int
	}{
		{"Sum", comm.Sum[int], sum}, {"Prod", comm.Prod[int], prod},
		{"Min", comm.Min[int], lo}, {"Max", comm.Max[int], hi},
		{"BitAnd", comm.BitAnd[int], and}, {"BitOr", comm.BitOr[int], or}, {"BitXor", comm.BitXor[int], xor},
		{"Elementwise", comm.Elementwise(func(a, b int) int { return max(a, b) }), hi},
	}
	for _, tc := range cases {
		got, err := comm.AllreduceOne(ctx, c, v, tc.op)
		check(err, equal(tc.name, got, tc.want))
	}
	last := int(c.Rank()) == n-1
	all, err := comm.AllreduceOne(ctx, c, last, comm.LogicalAnd)
	check(err, equal("LogicalAnd", all, n == 1))
	anyOf, err := comm.AllreduceOne(ctx, c, last, comm.LogicalOr)
	check(err, equal("LogicalOr", anyOf, true))
	nan := 1.0
	if last {
		nan = math.NaN()
	}
	low, err := comm.AllreduceOne(ctx, c, nan, comm.Min)
	return first(err, equal("Min with a NaN is NaN", math.IsNaN(low), true))
}

// opValue is small and not zero, of both signs.
func opValue(r int) int { return (r*7+3)%11 - 5 + (r % 2 * 12) }

// joined is the data of all ranks one after the other.
func joined(c *comm.Comm, length int) []float64 {
	var all []float64
	for r := range comm.Rank(c.Size()) {
		all = append(all, sample(r, length)...)
	}
	return all
}

func gather(ctx context.Context, c *comm.Comm) error {
	return forRoots(c, func(length int, root comm.Rank) error {
		in := sample(c.Rank(), length)
		if c.Rank() != root {
			return comm.Gather(ctx, c, root, in, nil)
		}
		out := make([]float64, length*c.Size())
		return first(comm.Gather(ctx, c, root, in, out), equalSlices("out", out, joined(c, length)))
	})
}

// uneven is the length on rank r when lengths differ: 0 on some ranks.
func uneven(r comm.Rank, length int) int {
	if r%3 == 1 {
		return 0
	}
	return length + int(r)
}

func equalParts(c *comm.Comm, got [][]float64, length int) error {
	err := equal("number of parts", len(got), c.Size())
	for r, part := range got {
		want := sample(comm.Rank(r), uneven(comm.Rank(r), length))
		err = first(err, equalSlices(fmt.Sprintf("part %d", r), part, want))
	}
	return err
}

func gatherv(ctx context.Context, c *comm.Comm) error {
	return forRoots(c, func(length int, root comm.Rank) error {
		got := must(comm.Gatherv(ctx, c, root, sample(c.Rank(), uneven(c.Rank(), length))))
		if c.Rank() != root {
			return equal("parts on other ranks", len(got), 0)
		}
		return equalParts(c, got, length)
	})
}

func allgather(ctx context.Context, c *comm.Comm) error {
	return forLengths(elements(c), "elements", func(length int) error {
		out := make([]float64, length*c.Size())
		in := out[int(c.Rank())*length:][:length]
		copy(in, sample(c.Rank(), length))
		return first(comm.Allgather(ctx, c, in, out), equalSlices("out", out, joined(c, length)))
	})
}

func allgatherv(ctx context.Context, c *comm.Comm) error {
	check(forLengths(elements(c), "elements", func(length int) error {
		got := must(comm.Allgatherv(ctx, c, sample(c.Rank(), uneven(c.Rank(), length))))
		return equalParts(c, got, length)
	}))
	blobs := must(comm.AllgatherBytes(ctx, c, pattern(c.Rank(), 0, 50*int(c.Rank()))))
	for r, blob := range blobs {
		check(equalSlices("bytes", blob, pattern(comm.Rank(r), 0, 50*r)))
	}
	return nil
}

func scatter(ctx context.Context, c *comm.Comm) error {
	return forRoots(c, func(length int, root comm.Rank) error {
		var in []float64
		if c.Rank() == root {
			in = joined(c, length)
		}
		out := make([]float64, length)
		return first(comm.Scatter(ctx, c, root, in, out), equalSlices("out", out, sample(c.Rank(), length)))
	})
}

func scatterv(ctx context.Context, c *comm.Comm) error {
	return forRoots(c, func(length int, root comm.Rank) error {
		var parts [][]float64
		if c.Rank() == root {
			for r := range comm.Rank(c.Size()) {
				parts = append(parts, sample(r, uneven(r, length)))
			}
		}
		got, err := comm.Scatterv(ctx, c, root, parts)
		return first(err, equalSlices("part", got, sample(c.Rank(), uneven(c.Rank(), length))))
	})
}

// alltoallv: rank s sends s*n+d elements or none to rank d.
func alltoallv(ctx context.Context, c *comm.Comm) error {
	n := comm.Rank(c.Size())
	for _, scale := range []int{0, 1, 200} {
		length := func(s, d comm.Rank) int { return scale * uneven(s*n+d, 3) }
		parts := make([][]float64, n)
		for d := range n {
			parts[d] = sample(c.Rank()*n+d, length(c.Rank(), d))
		}
		got, err := comm.Alltoallv(ctx, c, parts)
		check(err, equal("number of parts", len(got), int(n)))
		for s := range n {
			want := sample(s*n+c.Rank(), length(s, c.Rank()))
			check(equalSlices(fmt.Sprintf("part of rank %d", s), got[s], want))
		}
	}
	return nil
}
