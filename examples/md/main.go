package main

import (
	"context"
	"io"
	"os"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
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
	job := jobs.NewJob(cfg.Loop, stderr)
	if code, started := job.Launch(); started {
		return code
	}
	err = aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		return cfg.simulate(ctx, z, job.Rank(z))
	}, job.ZoneOptions()...)
	return job.End(err, stdout)
}
