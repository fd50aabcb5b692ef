package jobs

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// Exit codes, beside those of package checkpoint for a job that was asked to end.
const (
	ExitDone   = checkpoint.ExitDone
	ExitFailed = checkpoint.ExitFailed
	ExitUsage  = 2
)

// Flags are the values of the flags that the programs have in common. A rank that
// was started by `craft run` or by -np is a process too, whatever they say.
type Flags struct {
	Goroutines int                  // -ranks
	Processes  int                  // -np; 0: this process is not a root
	Nodes      int                  // -nodes
	Spare      int                  // -spare-nodes
	Restarts   int                  // -restarts
	Policy     string               // -levels; "": everything on the parallel file system
	CPPath     string               // -cp-path
	Fresh      bool                 // -fresh
	Async      checkpoint.AsyncMode // -async
	JSON       bool                 // -json

	program  string
	recovery comm.Recovery    // "": the environment decides
	spawn    comm.SpawnPolicy // "": the environment decides
	nodePath string           // -node-path
}

// Register adds the flags to those of a program with checkpoints, but for -cp-path
// and -fresh.
func (c *Flags) Register(f *flag.FlagSet) {
	c.RegisterRanks(f)
	c.registerLevels(f)
	f.TextVar(&c.Async, "async", modeOfEnvironment(), ModeUsage)
}

// Parse parses the arguments and returns the names of the flags that were given.
// For -help, which is flag.ErrHelp, it prints the usage and all flags.
func (c *Flags) Parse(f *flag.FlagSet, args []string, usage string, help io.Writer) (set map[string]bool, err error) {
	c.program = f.Name()
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	err = f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(help)
		fmt.Fprint(help, usage)
		f.PrintDefaults()
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: all settings are flags", f.Arg(0))
	}
	set = make(map[string]bool)
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	return set, err
}

// Check looks for contradictions; set are the names of the flags that were given.
func (c *Flags) Check(set map[string]bool) error {
	if err := c.checkRanks(set); err != nil {
		return err
	}
	return c.checkLevels(set)
}
