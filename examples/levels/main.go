package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/examples/internal/jobs"
)

func main() {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "levels:", err)
	}
	os.Exit(code)
}

// run also returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int, err error) {
	c, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return jobs.ExitDone, nil
	}
	if err != nil {
		return jobs.ExitUsage, err
	}
	ctx := context.Background()
	code, started, err := launch.Self(ctx, c.np, func(l *launch.Config) {
		l.Nodes, l.NodePath = c.nodes, c.nodePath
	})
	if started {
		return code, err
	}
	stop, err := profile(c.profile)
	if err != nil {
		return jobs.ExitFailed, err
	}
	defer stop()
	j := newJob(c)
	err = aft.Run(ctx, j.body, aft.WithLogger(j.log))
	if err == nil && j.print {
		err = j.result.write(stdout, c.json)
	}
	if err != nil {
		return jobs.ExitFailed, err
	}
	return jobs.ExitDone, nil
}
