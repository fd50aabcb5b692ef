package aft

import (
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
)

// Config holds the settings of a zone. It is read from the environment
// (docs/environment.md); options of Run win over it.
type Config struct {
	Recovery comm.Recovery    `envconfig:"COMM_RECOVERY_POLICY" default:"NON-SHRINKING"`
	Spawn    comm.SpawnPolicy `envconfig:"COMM_SPAWN_POLICY" default:"NO-REUSE"`
}

// LoadConfig reads the settings from the environment.
func LoadConfig() (Config, error) {
	var c Config
	err := env.Load(&c)
	return c, err
}

// Validate reports the first setting that is not allowed, by the name of its
// environment variable.
func (c Config) Validate() error {
	if c.Recovery != comm.Shrinking && c.Recovery != comm.NonShrinking {
		return env.Invalid("CRAFT_COMM_RECOVERY_POLICY", string(c.Recovery))
	}
	if c.Spawn != comm.Reuse && c.Spawn != comm.NoReuse {
		return env.Invalid("CRAFT_COMM_SPAWN_POLICY", string(c.Spawn))
	}
	return nil
}
