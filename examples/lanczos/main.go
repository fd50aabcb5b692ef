package main

import (
	"context"
	"io"
	"os"

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
func run(args []string, stdout io.Writer, stderr *os.File) int {
	cfg, err := parseFlags(args, stderr)
	if err != nil {
		return cfg.WrongUsage(err, stderr)
	}
	j := newJob(cfg, newScreen(stderr))
	if code, started := j.jobs.Launch(); started {
		return code
	}
	err = aft.Run(context.Background(), j.attempt, j.jobs.ZoneOptions()...)
	return j.jobs.End(err, stdout)
}
