package killtest

import (
	"math/rand/v2"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/stepwise"
)

// approach is a way to survive failures. Its jobs have ranks and nodes when it is set.
type approach struct {
	name string
	set  func(cfg *launch.Config, rng *rand.Rand)
	// survivor: one process that the job began with must be left.
	survivor bool
}

// approaches are those that are compared in the Reinit++ paper, and its future work.
var approaches = []approach{
	{name: "CR", set: func(cfg *launch.Config, _ *rand.Rand) {
		cfg.Policy.Recovery, cfg.Restarts = comm.Abort, 100
	}},
	{name: "NON-SHRINKING", set: func(cfg *launch.Config, rng *rand.Rand) {
		cfg.Policy.Recovery, cfg.SpareRanks = comm.NonShrinking, max(0, rng.IntN(6)-3)
	}},
	{name: "ULFM", set: func(cfg *launch.Config, rng *rand.Rand) {
		cfg.Policy.Recovery, cfg.SpareRanks = comm.NonShrinking, max(0, rng.IntN(6)-3)
		cfg.Env = append(cfg.Env, stepwise.Variable+"=1")
	}},
	{name: "SHRINKING", survivor: true, set: func(cfg *launch.Config, _ *rand.Rand) {
		cfg.Policy.Recovery = comm.Shrinking
	}},
	{name: "GLOBAL-RESTART", set: globalRestart},
	{name: "GLOBAL-RESTART that shrinks", set: func(cfg *launch.Config, rng *rand.Rand) {
		globalRestart(cfg, rng)
		cfg.Slots, cfg.SpareNodes = (cfg.Ranks+cfg.Nodes-1)/cfg.Nodes, 0
	}},
	{name: "GLOBAL-RESTART with spare ranks", set: func(cfg *launch.Config, rng *rand.Rand) {
		globalRestart(cfg, rng)
		cfg.SpareRanks = 1 + rng.IntN(2)
	}},
}

// globalRestart has a grace in some jobs that nearly no step keeps.
func globalRestart(cfg *launch.Config, rng *rand.Rand) {
	cfg.Policy.Recovery = comm.GlobalRestart
	if grace := oneOf(rng, "", "", "0", "5ms"); grace != "" {
		cfg.Env = append(cfg.Env, "CRAFT_RECOVERY_GRACE="+grace)
	}
}

// leveled is where versions are.
type leveled struct {
	policy string
	// nodes may be lost for ever with what is on them: more are no failure that is survived, if no version
	// was flushed before.
	nodes int
	// onNodes: replacements may have had versions on nodes that another job begins without.
	onNodes bool
}

var levels = []leveled{
	{"", many, false}, {"", many, false}, {"", many, false}, {"mem", many, false}, {"mem:1,pfs:4", many, false}, {"process:1,pfs:3", many, false},
	{"mem:1,local:3", 0, true}, {"local:1,partner:1,pfs:6", 1, true}, {"local:1,pfs:5", 0, true}, {"partner:1,pfs:5", 1, true}, {"xor:1,pfs:5", 1, true},
}

// many nodes may be lost: there are not so many.
const many = 100
