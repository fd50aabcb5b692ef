package replica

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
)

// program is a rank, or starts all of them; rank 0 prints the result as a line of JSON.
func program() {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "replica:", err)
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
		l.Nodes = c.np
		l.Repeats = 1000 // it is the same failure each time
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
	err = aft.Run(ctx, j.body, aft.WithLogger(slog.New(slog.DiscardHandler)))
	err = errors.Join(err, j.removeFiles())
	if err == nil && j.print {
		err = j.result.write(stdout)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// profile writes a processor profile of this rank to <prefix>.<process id>.
func profile(prefix string) (stop func(), err error) {
	if prefix == "" {
		return func() {}, nil
	}
	f, err := os.Create(fmt.Sprintf("%s.%d", prefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // only a profile
	}, nil
}
