package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// document is what a command has found: JSON for programs, and printed for people.
type document interface {
	print(s *screen)
}

// overview is what a command has to say about what is in a directory.
type overview struct {
	document document
	empty    bool
	nothing  string   // what to say to people if it is empty
	notes    []string // that are no problems
	problems []error
	failed   bool // as the document says
}

// overview completes a command that gives one, without an argument of where programs write.
func (p *program) overview(what string, look func(context.Context, *location) (overview, error), cmd *cobra.Command) *cobra.Command {
	cmd.Args = directories(0)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir := defaultBase()
		if len(args) > 0 {
			dir = args[0]
		}
		where, err := find(cmd.Context(), p.fs, dir)
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
		seen.problems = append(where.problems, seen.problems...)
		seen.nothing = fmt.Sprintf("no %s in %s", what, dir)
		return p.present(seen)
	}
	p.jsonFlag(cmd, "a table")
	return cmd
}

func (p *program) jsonFlag(cmd *cobra.Command, insteadOf string) {
	cmd.Flags().BoolVar(&p.json, "json", false, "one JSON document instead of "+insteadOf)
}

// errReported is returned when what went wrong was shown already.
var errReported = errors.New("reported")

// present prints an overview, and says what went wrong beside what was printed.
func (p *program) present(seen overview) (err error) {
	switch {
	case p.json:
		e := json.NewEncoder(&p.screen)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(seen.document)
	case !seen.empty:
		seen.document.print(&p.screen)
	case seen.nothing != "" && len(seen.problems) == 0:
		p.say("%s", seen.nothing)
	}
	for _, note := range seen.notes {
		p.say("%s", note)
	}
	for _, problem := range seen.problems {
		p.say("%v", problem)
	}
	if err == nil && (len(seen.problems) > 0 || seen.failed) {
		err = errReported
	}
	return err
}
