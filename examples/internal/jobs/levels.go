package jobs

import (
	"cmp"
	"flag"
	"fmt"
	"os"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
)

// registerLevels adds the flags that say which versions are kept on the nodes, and
// where that is.
func (c *Flags) registerLevels(f *flag.FlagSet) {
	f.StringVar(&c.Policy, "levels", policyOfEnvironment(), "which versions are kept where: a `list` such as local:1,partner:5,xor:10,rs:20,pfs:50 of levels and their\nperiods, counted in versions; empty: all in the directory of the checkpoints (default $CRAFT_LEVELS)")
	f.StringVar(&c.nodePath, "node-path", "", "with -levels: `directory` of the node's own storage; with -np each of the -nodes has its own below it. A job\nthat is started again needs the same one (default $CRAFT_NODE_PATH, or else below /dev/shm)")
}

// policyOfEnvironment is the policy that the environment asks for.
func policyOfEnvironment() string {
	var asked struct {
		Levels string `envconfig:"LEVELS"`
		UseSCR bool   `envconfig:"USE_SCR" default:"true"`
	}
	if err := env.Load(&asked); err != nil || !asked.UseSCR { // checkpoint.New will say what is wrong
		return ""
	}
	return asked.Levels
}

func (c *Flags) checkLevels(set map[string]bool) error {
	switch _, err := storage.ParsePolicy(c.Policy); {
	case err != nil && set["levels"]:
		return fmt.Errorf("-levels: %w", err)
	case set["node-path"] && c.nodePath == "":
		return fmt.Errorf("-node-path: it must be a directory")
	case set["node-path"] && c.Processes == 0 && launch.IsRank():
		return fmt.Errorf("-node-path is for ranks that this program starts: craft run has --node-path")
	}
	return nil
}

// base is the directory below which each of the nodes that this process starts
// has its own. "": there are no levels, and nobody needs them. Else it is not a temporary
// one, as the launcher makes it: the next start is to find what this one has left.
func (c *Flags) base() string {
	if c.nodePath == "" && c.Policy == "" {
		return ""
	}
	return cmp.Or(c.nodePath, os.Getenv(env.NodePath), env.DefaultNodePath())
}

// CheckpointOptions are those of each checkpoint that the flags ask for.
func (c *Flags) CheckpointOptions() []checkpoint.Option {
	levels, _ := storage.ParsePolicy(c.Policy) // checked, or checkpoint.New says it
	options := []checkpoint.Option{checkpoint.WithPath(c.CPPath), checkpoint.WithAsync(c.Async), checkpoint.WithLevels(levels...)}
	if c.nodePath != "" && !launch.IsRank() { // the launcher tells a rank
		options = append(options, checkpoint.WithNodePath(c.nodePath))
	}
	if c.Fresh {
		options = append(options, checkpoint.WithReadOnRestart(false))
	}
	return options
}
