package replica_test

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// A program whose points are divided among the ranks that are left when one fails. They are submitted
// once; those of the rank that failed come back from the memory of the others.
func Example() {
	const points = 1000
	program := func(ctx context.Context, z *aft.Zone) error {
		c := z.Comm()
		store, err := replica.Open(ctx, c, "points", replica.Options{Copies: 2})
		if err != nil {
			return err
		}
		if store.Version() == 0 { // the beginning: each rank makes its points
			mine := replica.Even(points, c.Size(), int(c.Rank()))
			err := store.Submit(ctx, replica.Blocks{
				N: points, Size: 8, First: mine.Lo, Count: mine.Len(),
				Fill: func(id int64, block []byte) error { block[0] = byte(id % 7); return nil },
			})
			if err != nil {
				return err
			}
			if c.Rank() == 3 {
				die(ctx) // as if this process were killed
			}
		}
		mine := replica.Even(points, c.Size(), int(c.Rank()))
		got, err := store.Load(ctx, nil, mine)
		if err != nil {
			return err
		}
		if err := store.Repair(ctx); err != nil { // two copies of each again, for the next failure
			return err
		}
		sum := 0
		for i := range got.Len() {
			sum += int(got.Block(i)[0])
		}
		all, err := comm.AllreduceOne(ctx, c, sum, comm.Sum)
		if err == nil && c.Rank() == 0 {
			fmt.Println(c.Size(), "ranks, sum", all)
		}
		return err
	}

	err := new(afttest.Cluster).Run(context.Background(), 4, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(context.WithValue(ctx, dying{}, r), program, aft.WithRecovery(comm.Shrinking), aft.WithLogger(quiet))
	})
	fmt.Println(err)
	// Output:
	// 3 ranks, sum 2997
	// <nil>
}

type dying struct{}

func die(ctx context.Context) { ctx.Value(dying{}).(*afttest.Rank).Die() }
