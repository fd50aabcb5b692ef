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

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128 // plus the number of the signal
)

func main() {
	if code, ok := launch.Daemon(); ok { // of a node, with -np
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

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
	ctx := context.Background()
	screen := newScreen(stderr)
	log := slog.New(slog.NewTextHandler(screen, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if code, started, err := cfg.ranks.Launch(ctx, log); err != nil {
		fmt.Fprintln(screen, "lanczos:", err)
		return code
	} else if started {
		return code
	}
	j := newJob(cfg, screen, log)
	defer j.interrupt.close()
	began := time.Now()
	err = aft.Run(ctx, j.attempt, cfg.ranks.Options(log)...)
	return j.end(err, time.Since(began), stdout)
}

// end prints the result, or why there is none, and returns the exit code. When
// ranks are processes only one of them prints.
func (j *job) end(err error, wall time.Duration, stdout io.Writer) int {
	first := j.first()
	var own *aft.BodyError
	switch {
	case errors.As(err, &own) && launch.IsRank() && own.Rank != j.workers[0].rank:
		return exitFailed // the rank whose error it is says so
	case err != nil:
		fmt.Fprintln(j.screen, "lanczos:", err)
		return exitFailed
	case j.workers[0].stopped != nil:
		if first != nil {
			fmt.Fprintln(j.screen, first.stopped)
		}
		return exitSignal + int(j.workers[0].stopped.signal)
	case first == nil:
		return exitDone
	}
	result := first.result
	result.Seconds = wall.Seconds()
	result.Over(wall)
	if err := errors.Join(result.print(stdout, j.config), j.forget()); err != nil {
		fmt.Fprintln(j.screen, "lanczos: write the result:", err)
		return exitFailed
	}
	return exitDone
}
