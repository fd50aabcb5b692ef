package replica

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/bench/program"
)

func run(args []string, stdout io.Writer) (code int, err error) {
	c, err := parseFlags(args)
	if err != nil {
		return 2, err
	}
	j := newJob(c)
	return program.Job{
		Ranks: c.np, Profile: c.profile,
		Launch: func(l *launch.Config) {
			l.Nodes = c.np
			l.Repeats = 1000 // it is the same failure each time
		},
		Body: func(ctx context.Context) error {
			err := aft.Run(ctx, j.body, aft.WithLogger(slog.New(slog.DiscardHandler)))
			return errors.Join(err, j.removeFiles())
		},
		Result: func() any {
			if !j.print {
				return nil
			}
			return j.result
		},
	}.Run(stdout)
}
