package aft

import (
	"errors"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
)

// config holds the settings of a zone. It is read from the environment
// (docs/environment.md); options of Run win over it.
type config struct {
	Recovery comm.Recovery    `envconfig:"COMM_RECOVERY_POLICY" default:"NON-SHRINKING"`
	Spawn    comm.SpawnPolicy `envconfig:"COMM_SPAWN_POLICY" default:"NO-REUSE"`
	// RecoveryDelay: see WithRecoveryDelay.
	RecoveryDelay delay `envconfig:"RECOVERY_DELAY" default:"2s"`
}

// delay is a time of at least 0, or Never.
type delay time.Duration

// Never is the delay of what does not happen.
const Never time.Duration = -1

// Decode implements envconfig.Decoder.
func (d *delay) Decode(text string) error {
	if text == "never" {
		*d = delay(Never)
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err == nil && parsed < 0 {
		err = errors.New("a negative duration")
	}
	*d = delay(parsed)
	return err
}

// String is such as "2s", or "never".
func (d delay) String() string {
	if d == delay(Never) {
		return "never"
	}
	return time.Duration(d).String()
}

// validate reports the first setting that is not allowed, by the name of its
// environment variable.
func (c config) validate() error {
	if !slices.Contains(comm.Recoveries(), c.Recovery) {
		return env.Invalid("CRAFT_COMM_RECOVERY_POLICY", string(c.Recovery))
	}
	if !slices.Contains(comm.SpawnPolicies(), c.Spawn) {
		return env.Invalid("CRAFT_COMM_SPAWN_POLICY", string(c.Spawn))
	}
	if c.RecoveryDelay < delay(Never) {
		return env.Invalid("CRAFT_RECOVERY_DELAY", c.RecoveryDelay.String())
	}
	return nil
}
