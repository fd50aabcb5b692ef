package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
)

func main() {
	if code, ok := launch.Daemon(); ok { // of a node, with -np
		os.Exit(code)
	}
	checkpoint.OnSignal(context.Background())
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: the result goes to stdout, all else to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args, stderr)
	if err != nil {
		return cfg.WrongUsage(err, stderr)
	}
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if code, started := cfg.Launch(ctx, log, stderr); started {
		return code
	}
	s := newSweeper(cfg, stderr, log)
	began := time.Now()
	err = aft.Run(ctx, s.attempt, cfg.ZoneOptions(log)...)
	return s.end(err, time.Since(began), stdout)
}
