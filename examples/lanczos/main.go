package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128 // plus the number of the signal
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program: the result goes to stdout, all else to stderr.
func run(args []string, stdout io.Writer, stderr *os.File) int {
	cfg, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "lanczos:", err)
		fmt.Fprintln(stderr, "Run it with -help for the flags.")
		return exitUsage
	}
	began := time.Now()
	screen := newScreen(stderr)
	j := &job{
		config:    cfg,
		screen:    screen,
		log:       slog.New(slog.NewTextHandler(screen, &slog.HandlerOptions{Level: slog.LevelWarn})),
		interrupt: newInterrupt(),
	}
	defer j.interrupt.close()
	var result result
	err = embedded.Run(context.Background(), cfg.ranks, func(ctx context.Context, c comm.Comm) error {
		r, err := j.solve(ctx, c)
		if err == nil && c.Rank() == 0 {
			result = r
		}
		return err
	})
	var stopped *interruptedError
	switch {
	case errors.As(err, &stopped):
		fmt.Fprintln(screen, stopped)
		return exitSignal + int(stopped.signal)
	case err != nil:
		fmt.Fprintln(screen, "lanczos:", err)
		return exitFailed
	}
	wall := time.Since(began)
	result.Seconds = wall.Seconds()
	result.Over(wall)
	if err := result.print(stdout, cfg); err != nil {
		fmt.Fprintln(stderr, "lanczos: write the result:", err)
		return exitFailed
	}
	return exitDone
}
