package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
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
	j := newJob(cfg, newScreen(stderr))
	if code, started := j.jobs.Launch(); started {
		return code
	}
	j.listen()
	defer j.interrupt.close()
	err = aft.Run(context.Background(), j.attempt, j.jobs.ZoneOptions()...)
	return j.end(err, stdout)
}

// end prints the result, or why there is none, and returns the exit code.
func (j *job) end(err error, stdout io.Writer) int {
	stopped := j.workers[0].stopped
	if err != nil || stopped == nil {
		return j.jobs.End(err, stdout)
	}
	for _, w := range j.workers {
		if w.rank.First() {
			fmt.Fprintln(j.screen, w.stopped)
		}
	}
	return 128 + int(stopped.signal)
}
