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
)

func main() {
	if code, ok := launch.Daemon(); ok { // of a node, with -np
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

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
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if code, started, err := cfg.ranks.Launch(ctx, log); err != nil {
		fmt.Fprintln(stderr, "nested:", err)
		return code
	} else if started {
		return code
	}
	s := newSweeper(cfg, stderr, log)
	began := time.Now()
	err = aft.Run(ctx, s.attempt, cfg.ranks.Options(log)...)
	return s.end(err, time.Since(began), stdout)
}
