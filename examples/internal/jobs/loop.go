package jobs

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Loop is what the command line says of a program that computes step after step, with a
// checkpoint every few of them.
type Loop struct {
	Flags
	Iterations int // -iters
	Frequency  int // -freq: a checkpoint in every iteration that is a multiple of it
	Kills      Kills
}

// Register adds all flags of such a program.
func (l *Loop) Register(f *flag.FlagSet, iterations, frequency int) {
	l.RegisterSteps(f, iterations)
	f.IntVar(&l.Frequency, "freq", frequency, "write a checkpoint in every iteration that is a multiple of `n`; for none at all set CRAFT_ENABLE=0")
}

// RegisterSteps adds them but for -freq.
func (l *Loop) RegisterSteps(f *flag.FlagSet, iterations int) {
	l.Flags.Register(f)
	f.IntVar(&l.Iterations, "iters", iterations, "stop after this many iterations")
	f.StringVar(&l.CPPath, "cp-path", "", "`directory` of the checkpoints (default $CRAFT_CP_PATH, or else a directory\nnamed after the problem in ./"+f.Name()+"-checkpoints)")
	f.BoolVar(&l.Fresh, "fresh", false, "start over, also if there is a checkpoint")
	l.Kills.Register(f)
	l.Kills.RegisterDieAt(f, ";\nan asynchronous write under way may end first, so that the restart is always from the same iteration")
}

// Check looks for contradictions; set are the names of the flags that were given. Problem
// is for Name; "": the program does not know it yet.
func (l *Loop) Check(set map[string]bool, problem string) error {
	if problem != "" {
		l.Name(problem)
	}
	if err := l.Flags.Check(set); err != nil {
		return err
	}
	if err := l.Kills.Check(&l.Flags); err != nil {
		return err
	}
	switch {
	case l.Iterations < 1:
		return fmt.Errorf("-iters %d: it must be at least 1", l.Iterations)
	case set["freq"] && l.Frequency < 1:
		return fmt.Errorf("-freq %d: it must be at least 1; for no checkpoints at all set CRAFT_ENABLE=0", l.Frequency)
	}
	return nil
}

// Name names the problem for which checkpoints have a directory of their own, if the user has
// not said where they go, so that trying one after the other needs no care.
func (l *Loop) Name(problem string) {
	l.CPPath = cmp.Or(l.CPPath, os.Getenv("CRAFT_CP_PATH"), filepath.Join(l.program+"-checkpoints", problem))
}
