package comm

import (
	"context"

	"github.com/craft-go/craft/aft/comm/driver"
)

// RequestOf is the request of an engine.
func RequestOf(r driver.Request) Request { return Request{driver: r} }

// What tests and benchmarks compare. Each name is that of the algorithm.

func AllreduceGathered(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Allreduce", tagAllreduce)
	return allreduceGathered(&k, in, out, Sum)
}

func AllreduceBlocks(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Allreduce", tagAllreduce)
	return inSegments(in, out, func(in, out []float64) error { return allreduceBlocks(&k, in, out, Sum) })
}

func AllreduceDoubling(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Allreduce", tagAllreduce)
	return allreduceDoubling(&k, in, out, Sum)
}

func AllreduceHalving(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Allreduce", tagAllreduce)
	return inSegments(in, out, func(in, out []float64) error { return allreduceHalving(&k, in, out, Sum) })
}

func ReduceTree(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Reduce", tagReduce)
	a := &assent{call: k, tree: binomial(c, 0), length: len(in) * 8}
	return reduceTree(a, in, out, Sum)
}

func ReduceBlocks(ctx context.Context, c *Comm, in, out []float64) error {
	if c.Rank() != 0 {
		out = nil
	}
	k := c.begin(ctx, "Reduce", tagReduce)
	return inSegments(in, out, func(in, out []float64) error { return reduceBlocks(&k, 0, in, out, Sum) })
}

func AllgatherSwap(ctx context.Context, c *Comm, in, out []float64) error {
	give, take := func(int) []float64 { return in }, func(r int) []float64 { return blockOf(out, r, len(in)) }
	k := c.begin(ctx, "Allgather", tagAllgather)
	return swap(&k, give, take)
}

func AllgatherRing(ctx context.Context, c *Comm, in, out []float64) error {
	copy(blockOf(out, int(c.Rank()), len(in)), in)
	k := c.begin(ctx, "Allgather", tagAllgather)
	return ring(&k, func(r int) []float64 { return blockOf(out, r, len(in)) })
}

func blockOf(all []float64, r, m int) []float64 { return all[r*m : (r+1)*m] }

func GatherTree(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Gather", tagGather)
	return gatherTree(&k, 0, bytesOf(in), bytesOf(out))
}

func GatherDirect(ctx context.Context, c *Comm, in, out []float64) error {
	k := c.begin(ctx, "Gather", tagGather)
	return gatherDirect(&k, 0, bytesOf(in), bytesOf(out))
}

func BcastChain(ctx context.Context, c *Comm, data, _ []float64) error {
	k := c.begin(ctx, "Bcast", tagBcast)
	b := broadcast{call: k, tree: chain(c, 0)}
	return b.segments(len(data)*8, bytesOf(data))
}

func BcastBinomial(ctx context.Context, c *Comm, data, _ []float64) error {
	k := c.begin(ctx, "Bcast", tagBcast)
	b := broadcast{call: k, tree: binomial(c, 0)}
	return b.segments(len(data)*8, bytesOf(data))
}
