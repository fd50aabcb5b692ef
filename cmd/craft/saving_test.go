package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft"
)

// savingVariable makes the test binary a program that saves when it is asked to end.
const savingVariable = "TEST_SAVING_PROGRAM"

func savingProgram() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	saved := false
	err := aft.Run(context.Background(), func(context.Context, *aft.Zone) error {
		if saved {
			return nil // before the repair
		}
		fmt.Println("computing")
		<-ctx.Done()
		fmt.Println("saving", os.Getpid())
		time.Sleep(time.Second)
		saved = true
		fmt.Println("saved", os.Getpid())
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
