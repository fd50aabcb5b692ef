package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/checkpoint"
)

// endingVariable makes the test binary a program that saves and ends when it is asked to. Its value is how many steps
// it has to do beyond those that it finds done.
const endingVariable = "TEST_ENDING_PROGRAM"

func endingProgram() int {
	ctx := context.Background()
	if os.Getenv("TEST_ENDING_DEAF") == "" {
		checkpoint.OnSignal(ctx)
	}
	more, _ := strconv.Atoi(os.Getenv(endingVariable))
	code, _ := strconv.Atoi(os.Getenv("TEST_ENDING_CODE"))
	gate := os.Getenv("TEST_ENDING_GATE") // rank 3 does not get on without this file
	err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		var sum int
		cp, err := checkpoint.New("ending", z.Comm(), checkpoint.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		defer func() { _ = cp.Close() }()
		cp.Add("sum", &sum)
		iter := 0
		if err := cp.Commit(); err != nil {
			return err
		}
		if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
			return err
		}
		if sum != iter*(iter-1)/2 {
			return fmt.Errorf("the sum of the numbers below %d is not %d", iter, sum)
		}
		if dir := os.Getenv("TEST_ENDING_FLOOD"); dir != "" { // more than is taken ahead of a reader
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(z.Comm().Rank())), nil, 0o600); err != nil {
				return err
			}
			for range 1000 {
				fmt.Printf("%01023d\n", 0)
			}
		}
		fmt.Println("begins", os.Getpid(), iter, z.Comm().Rank())
		for end := iter + more; iter < end; iter++ {
			if code > 0 {
				os.Exit(code)
			}
			for z.Comm().Rank() == 3 && gate != "" && !exists(gate) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			sum += iter
			time.Sleep(2*time.Millisecond + 100*time.Microsecond*time.Duration(z.Comm().Rank())) // they drift apart
			if err := cp.UpdateAndWrite(ctx, iter, 1<<30); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Fprint(os.Stderr, checkpoint.ExitMessage(err))
	return checkpoint.ExitCode(err)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
