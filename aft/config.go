package aft

import (
	"errors"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
)

// Config holds the settings of a zone. It is read from the environment
// (docs/environment.md); options of Run win over it.
type Config struct {
	Recovery comm.Recovery    `envconfig:"COMM_RECOVERY_POLICY" default:"NON-SHRINKING"`
	Spawn    comm.SpawnPolicy `envconfig:"COMM_SPAWN_POLICY" default:"NO-REUSE"`
	// RecoveryDelay: see WithRecoveryDelay.
	RecoveryDelay Delay `envconfig:"RECOVERY_DELAY" default:"2s"`
}

// Delay is a time of at least 0, or Never.
type Delay time.Duration

// Never is the delay of what does not happen.
const Never time.Duration = -1

// Decode implements envconfig.Decoder.
func (d *Delay) Decode(text string) error {
	if text == "never" {
		*d = Delay(Never)
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err == nil && parsed < 0 {
		err = errors.New("a negative duration")
	}
	*d = Delay(parsed)
	return err
}

// String is such as "2s", or "never".
func (d Delay) String() string {
	if d == Delay(Never) {
		return "never"
	}
	return time.Duration(d).String()
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
	if !slices.Contains(comm.Recoveries(), c.Recovery) {
		return env.Invalid("CRAFT_COMM_RECOVERY_POLICY", string(c.Recovery))
	}
	if !slices.Contains(comm.SpawnPolicies(), c.Spawn) {
		return env.Invalid("CRAFT_COMM_SPAWN_POLICY", string(c.Spawn))
	}
	if c.RecoveryDelay < Delay(Never) {
		return env.Invalid("CRAFT_RECOVERY_DELAY", c.RecoveryDelay.String())
	}
	return nil
}
