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
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program: the result goes to stdout, all else to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "nested:", err)
		fmt.Fprintln(stderr, "Run it with -help for the flags.")
		return exitUsage
	}
	began := time.Now()
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var result result
	err = embedded.Run(context.Background(), cfg.ranks, func(ctx context.Context, c comm.Comm) error {
		j := &job{config: cfg, comm: c, stderr: stderr, log: log}
		r, err := j.solve(ctx)
		if err == nil && c.Rank() == 0 {
			result = r
		}
		return err
	})
	if err != nil {
		fmt.Fprintln(stderr, "nested:", err)
		return exitFailed
	}
	wall := time.Since(began)
	result.Seconds = wall.Seconds()
	result.Over(wall)
	if err := result.print(stdout, cfg); err != nil {
		fmt.Fprintln(stderr, "nested: write the result:", err)
		return exitFailed
	}
	return exitDone
}
