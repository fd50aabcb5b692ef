package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/examples/internal/jobs"
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
	if err != nil {
		return cfg.WrongUsage(err, stderr)
	}
	ctx := context.Background()
	screen := newScreen(stderr)
	log := slog.New(slog.NewTextHandler(screen, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if code, started := cfg.Launch(ctx, log, screen); started {
		return code
	}
	j := newJob(cfg, screen, log)
	defer j.interrupt.close()
	began := time.Now()
	err = aft.Run(ctx, j.attempt, cfg.ZoneOptions(log)...)
	return j.end(err, time.Since(began), stdout)
}

// end prints the result, or why there is none, and returns the exit code. When
// ranks are processes only one of them prints.
func (j *job) end(err error, wall time.Duration, stdout io.Writer) int {
	if err != nil {
		return j.Failed(err, j.workers[0].rank, j.screen)
	}
	stopped := j.workers[0].stopped
	for _, w := range j.workers {
		switch {
		case w.rank != 0:
		case stopped != nil:
			fmt.Fprintln(j.screen, w.stopped)
		default:
			w.result.Seconds = w.result.Over(wall)
			if err := errors.Join(w.result.print(stdout, j.config), j.forget()); err != nil {
				fmt.Fprintln(j.screen, "lanczos: write the result:", err)
				return jobs.ExitFailed
			}
		}
	}
	if stopped != nil {
		return 128 + int(stopped.signal)
	}
	return jobs.ExitDone
}
