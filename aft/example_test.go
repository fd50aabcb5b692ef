package aft_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
)

// Four ranks add up the squares of 0 to 9, each its share, with a checkpoint
// after each step. In step 6 the communicator is revoked, as it is when a process
// fails: the zone repairs it, and the body goes on from the checkpoint.
func Example() {
	dir, err := os.MkdirTemp("", "zone")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	err = aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		total, step := 0, 0
		cp, err := checkpoint.New("squares", z.Comm(), checkpoint.WithPath(dir), checkpoint.WithLogger(nil))
		if err != nil {
			return err
		}
		_ = cp.Add("total", cptypes.Replicated(&total)) // Commit returns its error
		if err := errors.Join(cp.Commit(), cp.RestartIfNeeded(ctx, &step)); err != nil {
			return err
		}
		if z.Comm().Rank() == 0 {
			fmt.Printf("attempt %d begins with step %d\n", z.Epoch(), step)
		}
		for ; step < 10; step++ {
			z.Step(step)
			if step == 6 && z.Epoch() == 0 {
				return z.Comm().Revoke()
			}
			mine := 0
			if step%z.Comm().Size() == int(z.Comm().Rank()) {
				mine = step * step
			}
			sum, err := comm.AllreduceOne(ctx, z.Comm(), mine, comm.Sum[int])
			if err != nil {
				return err
			}
			total += sum
			if err := cp.UpdateAndWrite(ctx, step, 1); err != nil {
				return err
			}
		}
		if z.Comm().Rank() == 0 {
			fmt.Println("total", total, "after", z.Stats().Recoveries, "recovery")
		}
		return nil
	}, aft.WithRanks(4), aft.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// attempt 0 begins with step 0
	// attempt 1 begins with step 6
	// total 285 after 1 recovery
}
