package levels

import (
	"context"
	"io"

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
		Launch: func(l *launch.Config) { l.Nodes, l.NodePath = c.nodes, c.nodePath },
		Body:   func(ctx context.Context) error { return aft.Run(ctx, j.body, aft.WithLogger(j.log)) },
		Result: func() any {
			if !j.print {
				return nil
			}
			j.result.summarize()
			return j.result
		},
	}.Run(stdout)
}
