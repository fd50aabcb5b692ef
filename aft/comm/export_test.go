package comm

import "context"

// What tests and benchmarks compare. Each name is that of the algorithm.

func AllreduceGathered(ctx context.Context, c Comm, in, out []float64) error {
	return allreduceGathered(ctx, c, "Allreduce", in, out, Sum, false)
}

func AllreduceBlocks(ctx context.Context, c Comm, in, out []float64) error {
	return inSegments(in, out, func(in, out []float64) error { return allreduceBlocks(ctx, c, in, out, Sum) })
}

func AllreduceDoubling(ctx context.Context, c Comm, in, out []float64) error {
	return allreduceDoubling(ctx, c, "Allreduce", in, out, Sum, false)
}

func AllreduceHalving(ctx context.Context, c Comm, in, out []float64) error {
	return inSegments(in, out, func(in, out []float64) error { return allreduceHalving(ctx, c, in, out, Sum) })
}

func ReduceTree(ctx context.Context, c Comm, in, out []float64) error {
	a := &assent{ctx: ctx, c: c, tag: tagReduce, tree: binomial(c, 0), length: len(in) * 8}
	return reduceTree(a, in, out, Sum)
}

func ReduceBlocks(ctx context.Context, c Comm, in, out []float64) error {
	if c.Rank() != 0 {
		out = nil
	}
	return inSegments(in, out, func(in, out []float64) error { return reduceBlocks(ctx, c, 0, in, out, Sum) })
}

func AllgatherSwap(ctx context.Context, c Comm, in, out []float64) error {
	give, take := func(int) []float64 { return in }, func(r int) []float64 { return blockOf(out, r, len(in)) }
	return swap(ctx, c, tagAllgather, give, take)
}

func AllgatherRing(ctx context.Context, c Comm, in, out []float64) error {
	copy(blockOf(out, int(c.Rank()), len(in)), in)
	return ring(ctx, c, tagAllgather, func(r int) []float64 { return blockOf(out, r, len(in)) })
}

func blockOf(all []float64, r, m int) []float64 { return all[r*m : (r+1)*m] }

func GatherTree(ctx context.Context, c Comm, in, out []float64) error {
	return gatherTree(ctx, c, "Gather", 0, bytesOf(in), bytesOf(out), false)
}

func GatherDirect(ctx context.Context, c Comm, in, out []float64) error {
	return gatherDirect(ctx, c, "Gather", 0, bytesOf(in), bytesOf(out), false)
}

func BcastChain(ctx context.Context, c Comm, data, _ []float64) error {
	b := broadcast{ctx: ctx, c: c, tag: tagBcast, tree: chain(c, 0)}
	return b.segments(len(data)*8, bytesOf(data))
}

func BcastBinomial(ctx context.Context, c Comm, data, _ []float64) error {
	b := broadcast{ctx: ctx, c: c, tag: tagBcast, tree: binomial(c, 0)}
	return b.segments(len(data)*8, bytesOf(data))
}
