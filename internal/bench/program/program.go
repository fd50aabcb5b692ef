// Package program is what the programs of the benchmarks have in common: each is a rank, or starts all
// of them, and its rank 0 prints what was measured as a line of JSON.
package program

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/craft-go/craft/aft/launch"
)

// Main runs a program with the arguments of the command line, says what is wrong, and ends the process.
func Main(name string, run func(args []string, stdout io.Writer) (code int, err error)) {
	code, err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(code)
}

// Parse parses flags, behind which nothing may follow.
func Parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return nil
}

// Job is a program whose flags were read.
type Job struct {
	Ranks   int // to start; 0: this is one of them
	Launch  launch.Option
	Profile string // prefix of the processor profiles of the ranks, if they are to be written

	Body   func(ctx context.Context) error // of a rank
	Result func() any                      // of Body; nil: another rank prints it
}

// Run also returns the exit code.
func (j Job) Run(stdout io.Writer) (code int, err error) {
	ctx := context.Background()
	code, started, err := launch.Self(ctx, j.Ranks, j.Launch)
	if started {
		return code, err
	}
	stop, err := profile(j.Profile)
	if err != nil {
		return 1, err
	}
	defer stop()
	if err := j.Body(ctx); err != nil {
		return 1, err
	}
	if r := j.Result(); r != nil {
		if err := json.NewEncoder(stdout).Encode(r); err != nil {
			return 1, err
		}
	}
	return 0, nil
}
