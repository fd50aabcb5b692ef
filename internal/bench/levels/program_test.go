package levels

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

// program is a rank, or starts all of them; rank 0 prints the figures as a line of JSON.
func program() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "levels:", err)
	}
	os.Exit(code)
}

// run also returns the exit code.
func run(args []string, stdout io.Writer) (code int, err error) {
	c, err := parseFlags(args)
	if err != nil {
		return 2, err
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
		return 1, err
	}
	defer stop()
	j := newJob(c)
	err = aft.Run(ctx, j.body, aft.WithLogger(j.log))
	if err == nil && j.print {
		err = j.result.write(stdout)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
