package comm_test

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// Four ranks in a ring: each tells the next one its number, and all learn the largest
// number that anybody has heard.
func Example() {
	err := aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		c := z.Comm()
		size := comm.Rank(c.Size())
		next, before := (c.Rank()+1)%size, (c.Rank()+size-1)%size

		const tag = 0
		mine, heard := []int{10 * int(c.Rank())}, make([]int, 1)
		if _, _, err := comm.Sendrecv(ctx, c, next, tag, mine, before, tag, heard); err != nil {
			return err
		}
		largest, err := comm.AllreduceOne(ctx, c, heard[0], comm.Max[int])
		if err != nil {
			return err
		}
		all, err := comm.Gatherv(ctx, c, 0, heard)
		if c.Rank() == 0 {
			fmt.Println("heard", all, "largest", largest)
		}
		return err
	}, aft.WithRanks(4))
	fmt.Println(err)
	// Output:
	// heard [[30] [0] [10] [20]] largest 30
	// <nil>
}

// The even ranks and the odd ones, each a communicator of their own.
func ExampleComm_Split() {
	err := aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		c := z.Comm()
		half, err := c.Split(ctx, int(c.Rank())%2, int(c.Rank()))
		if err != nil {
			return err
		}
		defer half.Free()
		sum, err := comm.AllreduceOne(ctx, half, int(c.Rank()), comm.Sum[int])
		if c.Rank() == 5 {
			fmt.Println("rank", half.Rank(), "of", half.Size(), "sum", sum)
		}
		return err
	}, aft.WithRanks(6))
	fmt.Println(err)
	// Output:
	// rank 2 of 3 sum 9
	// <nil>
}
