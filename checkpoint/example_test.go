package checkpoint_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
)

// heat runs until the iteration crash, as if it were killed there.
func heat(ctx context.Context, dir string, crash int) error {
	field := []float64{0, 0, 100, 0, 0}
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
	if err != nil {
		return err
	}
	defer cp.Close()
	cp.Add("field", &field)
	if err := cp.Commit(); err != nil {
		return err
	}
	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	fmt.Println("starts with iteration", iter)
	for ; iter < 100; iter++ {
		if iter == crash {
			return nil
		}
		for i := 1; i < len(field)-1; i++ {
			field[i] += 0.1 * (field[i-1] - 2*field[i] + field[i+1])
		}
		if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil {
			return err
		}
	}
	fmt.Printf("ends with %.4f\n", field[2])
	return nil
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func Example() {
	dir, err := os.MkdirTemp("", "heat-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, crash := range []int{37, 85, -1} {
		if err := heat(context.Background(), dir, crash); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// starts with iteration 0
	// starts with iteration 31
	// starts with iteration 81
	// ends with 0.0737
}

// A vector that is spread over four ranks comes back on three.
func Example_ranks() {
	dir, err := os.MkdirTemp("", "ranks-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	const n = 12
	for _, ranks := range []int{4, 3} {
		err := afttest.Run(context.Background(), ranks, func(ctx context.Context, c *comm.Comm) error {
			lo, hi := int(c.Rank())*n/ranks, (int(c.Rank())+1)*n/ranks
			x := make([]float64, hi-lo)
			cp, err := checkpoint.New("vector", c, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
			if err != nil {
				return err
			}
			defer cp.Close()
			cp.Add("x", cptypes.Partitioned(&x, lo, hi, n))
			if err := cp.Commit(); err != nil {
				return err
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			if cp.Stats().Restored {
				if c.Rank() == 1 {
					fmt.Println("rank 1 of 3 has", x)
				}
				return nil
			}
			for i := range x {
				x[i] = float64(lo + i)
			}
			return cp.Write(ctx)
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// rank 1 of 3 has [4 5 6 7]
}
