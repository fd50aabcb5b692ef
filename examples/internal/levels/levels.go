// Package levels is the flags of the examples that say which versions are kept
// on the nodes, and where that is.
package levels

import (
	"flag"
	"fmt"
	"os"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/env"
)

// Flags are the values of the flags.
type Flags struct {
	Policy   string // -levels; "": everything on the parallel file system
	NodePath string // -node-path
}

// Register adds the flags to f.
func (l *Flags) Register(f *flag.FlagSet) {
	l.Policy = fromEnvironment()
	f.StringVar(&l.Policy, "levels", l.Policy, "which versions are kept where: a `list` such as local:1,partner:5,xor:10,rs:20,pfs:50 of levels and their\nperiods, counted in versions; empty: all in the directory of the checkpoints (default $CRAFT_LEVELS)")
	f.StringVar(&l.NodePath, "node-path", "", "with -levels: `directory` of the node's own storage; with -np each of the -nodes has its own below it. A job\nthat is started again needs the same one (default $CRAFT_NODE_PATH, or else below /dev/shm)")
}

// fromEnvironment is the policy that the environment asks for.
func fromEnvironment() string {
	env, err := checkpoint.LoadConfig()
	if err != nil || !env.UseSCR { // checkpoint.New will say what is wrong
		return ""
	}
	return env.Levels
}

// Check looks for what is not allowed; set are the names of the flags that were
// given, processes the number of ranks that this process is to start.
func (l *Flags) Check(set map[string]bool, processes int) error {
	config, err := checkpoint.LoadConfig()
	if err != nil {
		return nil // checkpoint.New will say it
	}
	config.Levels = l.Policy
	switch err := config.Validate(); {
	case err != nil && set["levels"]:
		return fmt.Errorf("-levels: %w", err)
	case set["node-path"] && l.NodePath == "":
		return fmt.Errorf("-node-path: it must be a directory")
	case set["node-path"] && processes == 0 && launch.IsRank():
		return fmt.Errorf("-node-path is for ranks that this program starts: craft run has --node-path")
	}
	return nil
}

// Base is the directory below which each of the nodes that this process starts
// has its own. "": there are no levels, and nobody needs them.
func (l *Flags) Base() string {
	switch {
	case l.NodePath != "":
		return l.NodePath
	case l.Policy == "":
		return ""
	case os.Getenv("CRAFT_NODE_PATH") != "":
		return os.Getenv("CRAFT_NODE_PATH")
	}
	// Not a temporary one, as the launcher makes it: the next start is to find
	// what this one has left.
	return env.DefaultNodePath()
}

// Options are those of each checkpoint.
func (l *Flags) Options() []checkpoint.Option {
	options := []checkpoint.Option{checkpoint.WithLevels(l.Policy)}
	if l.NodePath != "" && !launch.IsRank() { // the launcher tells a rank
		options = append(options, checkpoint.WithNodePath(l.NodePath))
	}
	return options
}
