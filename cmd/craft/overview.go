package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// overview is what a command has to say about the checkpoints in a directory.
type overview struct {
	document any
	empty    bool
	print    func() error // for people; not called if it is empty
	problems []error
}

// overview completes a command that gives one, without an argument of where programs write.
func (p *program) overview(what string, look func(context.Context, *place) (overview, error), cmd *cobra.Command) *cobra.Command {
	var asJSON bool
	cmd.Args = directories(0)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir := defaultBase()
		if len(args) > 0 {
			dir = args[0]
		}
		where, err := p.find(cmd.Context(), dir)
		if err != nil {
			return err
		}
		if where.loose {
			return fmt.Errorf("%s is a file, not a directory of checkpoints", dir)
		}
		seen, err := look(cmd.Context(), where)
		if err != nil {
			return err
		}
		problems := append(where.problems, seen.problems...)
		switch {
		case asJSON:
			err = p.printJSON(seen.document)
		case !seen.empty:
			err = seen.print()
		case len(problems) == 0:
			p.say("no %s in %s", what, dir)
		}
		return p.conclude(err, problems)
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document instead of a table")
	return cmd
}

// conclude says what went wrong beside what was printed.
func (p *program) conclude(err error, problems []error) error {
	for _, problem := range problems {
		p.say("%v", problem)
	}
	if err == nil && len(problems) > 0 {
		err = errReported
	}
	return err
}
