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
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	fail := func(code int, err error) int {
		fmt.Fprintln(stderr, "levels:", err)
		return code
	}
	c, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	ctx := context.Background()
	code, started, err := launch.Self(ctx, c.np, func(l *launch.Config) {
		l.Nodes, l.NodePath = c.nodes, c.nodePath
	})
	if started {
		if err != nil {
			return fail(code, err)
		}
		return code
	}
	stop, err := profile(c.profile)
	if err != nil {
		return fail(exitFailed, err)
	}
	defer stop()
	j := newJob(c)
	if err := aft.Run(ctx, j.body, aft.WithLogger(j.log)); err != nil {
		return fail(exitFailed, err)
	}
	if j.print {
		if err := j.result.write(stdout, c.json); err != nil {
			return fail(exitFailed, err)
		}
	}
	return 0
}
