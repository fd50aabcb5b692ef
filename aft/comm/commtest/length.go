package commtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

// The trials of this file give a collective lengths that differ between ranks,
// or arguments that do not fit. No rank may wait for ever, every error must be
// ErrTruncated, at least one rank (all of them, where told) must get one, and the
// collective must work afterwards.
var lengthTrials = []trial{
	{"bcast", 2, disagree(false, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Bcast(ctx, c, 0, make([]float64, length))
	})},
	{"bcast of the last", 2, disagree(false, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Bcast(ctx, c, comm.Rank(c.Size()-1), make([]float64, length))
	})},
	{"reduce", 2, disagree(false, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Reduce(ctx, c, 0, make([]float64, length), make([]float64, length), comm.Sum)
	})},
	{"allreduce", 2, disagree(true, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Allreduce(ctx, c, make([]float64, length), make([]float64, length), comm.Sum)
	})},
	{"allreduce in any order", 2, disagree(true, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Allreduce(ctx, c, make([]float64, length), make([]float64, length), comm.Sum, comm.AnyOrder)
	})},
	{"gather", 2, disagree(false, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Gather(ctx, c, 0, make([]float64, length), onRoot(c, length))
	})},
	{"allgather", 2, disagree(true, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Allgather(ctx, c, make([]float64, length), make([]float64, length*c.Size()))
	})},
	{"scatter", 2, disagree(false, func(ctx context.Context, c *comm.Comm, length int) error {
		return comm.Scatter(ctx, c, 0, onRoot(c, length), make([]float64, length))
	})},
	{"wrong number of parts", 2, partLengths},
	{"own arguments", 1, ownArguments},
}

// mismatch is a length in float64 that most ranks give, and one that differs.
type mismatch struct{ most, one int }

// Both small, one or the other of the length of a control message, and both
// ways across each change of algorithm.
var mismatches = []mismatch{
	{1, 2}, {2, 1}, {0, 1}, {1, 0}, {4, 3}, {3, 4}, {0, 4}, {4, 0},
	{10, 40_000}, {40_000, 10}, {4, 40_000}, {40_000, 4}, {0, 40_000}, {40_000, 0},
	{40_000, 70_000}, {70_000, 40_000}, {70_000, 69_999}, {1, 700}, {700, 1},
}

// disagree is the body that runs call with one odd rank (several, in turn) and
// checks the verdict.
func disagree(everybody bool, call func(ctx context.Context, c *comm.Comm, length int) error) func(context.Context, *comm.Comm) error {
	return func(ctx context.Context, c *comm.Comm) error {
		for _, m := range mismatches {
			for _, odd := range []comm.Rank{0, comm.Rank(c.Size() - 1)} {
				length := m.most
				if c.Rank() == odd {
					length = m.one
				}
				err := verdict(ctx, c, everybody, call(ctx, c, length))
				if err == nil {
					err = call(ctx, c, 5)
				}
				if err != nil {
					return fmt.Errorf("%d elements, %d on rank %d: %w", m.most, m.one, odd, err)
				}
			}
		}
		return nil
	}
}

// verdict checks the errors of all ranks.
func verdict(ctx context.Context, c *comm.Comm, everybody bool, err error) error {
	if err != nil && !errors.Is(err, comm.ErrTruncated) {
		return fmt.Errorf("want ErrTruncated: %w", err)
	}
	count := 0
	for _, failed := range must(comm.Alltoallv(ctx, c, flags(c, err != nil))) {
		if failed[0] {
			count++
		}
	}
	switch {
	case count == 0:
		return errors.New("no rank got an error")
	case everybody && count < c.Size():
		return fmt.Errorf("only %d of %d ranks got an error", count, c.Size())
	}
	return nil
}

// flags sends one flag to every rank by another collective than those on trial.
func flags(c *comm.Comm, flag bool) [][]bool {
	return slices.Repeat([][]bool{{flag}}, c.Size())
}

// onRoot is room for all ranks' data on rank 0, and nil elsewhere.
func onRoot(c *comm.Comm, length int) []float64 {
	if c.Rank() != 0 {
		return nil
	}
	return make([]float64, length*c.Size())
}

// partLengths gives one part too few.
func partLengths(ctx context.Context, c *comm.Comm) error {
	short := make([][]int, c.Size()-1)
	_, err := comm.Scatterv(ctx, c, 0, short)
	check(verdict(ctx, c, true, err))
	parts := slices.Repeat([][]int{make([]int, 20_000)}, c.Size()) // longer than what engines buffer
	if c.Rank() == 1 {
		parts = short
	}
	_, err = comm.Alltoallv(ctx, c, parts)
	return verdict(ctx, c, true, err)
}

// ownArguments: in and out do not fit on rank 0, or the operation is missing.
func ownArguments(ctx context.Context, c *comm.Comm) error {
	return forLengths([]int{2, 40_000}, "elements", func(length int) error {
		out := length
		op := comm.Op[float64](nil)
		if c.Rank() == 0 {
			out++
		} else {
			op = comm.Sum[float64]
		}
		in := make([]float64, length)
		check(
			verdict(ctx, c, true, comm.Allreduce(ctx, c, in, make([]float64, out), comm.Sum)),
			verdict(ctx, c, true, comm.Allreduce(ctx, c, in, in, op)),
			verdict(ctx, c, true, comm.Allreduce(ctx, c, in, make([]float64, out), comm.Sum, comm.AnyOrder)),
			verdict(ctx, c, false, comm.Reduce(ctx, c, 0, in, make([]float64, out), comm.Sum)),
			verdict(ctx, c, false, comm.Reduce(ctx, c, 0, in, in, op)),
			verdict(ctx, c, true, comm.Allgather(ctx, c, in, make([]float64, out*c.Size()))),
			verdict(ctx, c, false, comm.Gather(ctx, c, 0, in, make([]float64, out*c.Size()))),
			verdict(ctx, c, c.Size() > 1, comm.Scatter(ctx, c, 0, make([]float64, out*c.Size()), in)))
		return comm.Allreduce(ctx, c, in, in, comm.Sum)
	})
}
