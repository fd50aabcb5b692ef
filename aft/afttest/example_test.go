package afttest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// A program that survives the loss of a node, and the test of it.
func ExampleCluster() {
	program := func(ctx context.Context, onStep func(step int)) (sum float64, err error) {
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			sum = 0
			for step := range 10 {
				onStep(step)
				s, err := comm.AllreduceOne(ctx, z.Comm(), float64(step), comm.Sum)
				if err != nil {
					return err
				}
				sum += s
			}
			return nil
		}, aft.WithLogger(slog.New(slog.DiscardHandler)))
		return sum, err
	}

	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	cluster := &afttest.Cluster{Nodes: 2, Spares: 1, Dir: dir}
	err = cluster.Run(context.Background(), 4, func(ctx context.Context, r *afttest.Rank) error {
		sum, err := program(ctx, func(step int) {
			if step == 5 && r.Session().Place().Original == 3 && !r.Replacement() {
				r.KillNode(r.Node()) // ranks 2 and 3
			}
		})
		if err == nil && r.Session().Place().Original == 3 {
			fmt.Printf("rank 3 is on node %d: %v\n", r.Node(), sum)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// rank 3 is on node 2: 180
	// <nil>
}

// A program as it is, without a function of the test in it: it says its steps.
func ExampleRank_Die() {
	program := func(ctx context.Context) (sum int, err error) {
		err = aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			sum = 0
			for step := range 10 {
				z.Step(step)
				s, err := comm.AllreduceOne(ctx, z.Comm(), step, comm.Sum)
				if err != nil {
					return err
				}
				sum += s
			}
			return nil
		}, aft.WithLogger(slog.New(slog.DiscardHandler)))
		return sum, err
	}

	cluster := &afttest.Cluster{}
	err := cluster.Run(context.Background(), 4, func(ctx context.Context, r *afttest.Rank) error {
		original := r.Session().Place().Original
		if original == 2 && !r.Replacement() {
			defer r.Session().Observe(&comm.Observer{Collective: func(c comm.Collective) func(error) {
				if c.Step == 5 {
					r.Die()
				}
				return nil
			}})()
		}
		sum, err := program(ctx)
		if err == nil && original == 2 {
			fmt.Printf("replacement: %t, sum: %d\n", r.Replacement(), sum)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// replacement: true, sum: 180
	// <nil>
}
