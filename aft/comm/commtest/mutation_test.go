package commtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheSuiteFindsFaults: each fault that is built into the model makes one of
// the trials fail.
func TestTheSuiteFindsFaults(t *testing.T) {
	for fault, trial := range map[string]string{
		"send or receive waits for the dead":        "message/send after",
		"what has arrived is lost":                  "message/had arrived",
		"wildcard ignores failures":                 "wildcard/posted before",
		"wildcard knows no acknowledgement":         "wildcard/posted after, acknowledged",
		"scope is not local":                        "message/survivors are not disturbed",
		"revoke does not interrupt":                 "revoke/interrupts/receive",
		"a revoked one can be used":                 "revoke/all that comes after",
		"revoke reaches the others too":             "revoke/other communicators",
		"a dead revoker is not heard":               "revoke/revoker dies",
		"revoke interrupts all":                     "revoke/agreement and shrink go on",
		"agree is not uniform":                      "agree/some have acknowledged",
		"agree forgets":                             "agree/dead before",
		"shrink changes the order":                  "shrink/dead before",
		"shrink keeps the dead":                     "shrink/failure is not known yet",
		"split ignores the dead":                    "split/dead before",
		"split ignores keys":                        "split/by key",
		"dup is the same":                           "split/dup",
		"one list for all communicators":            "list/of each communicator",
		"failures are not told":                     "list/grows",
		"nodes are those of the first communicator": "split/by key",
		"spawn appends":                             "spawn/one",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, runTrial(t, "", trial, patience), "without the fault")
			require.Error(t, runTrial(t, fault, trial, time.Second))
		})
	}
}

// runTrial runs a trial until a seed makes it fail, but not for ever.
func runTrial(t *testing.T, fault, name string, limit time.Duration) error {
	for seed := range uint64(20) {
		body, err := Body(seeded(name, seed))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err = runModel(ctx, fault, 4, body)
		cancel()
		if err != nil {
			t.Logf("%q found: %v", fault, err)
			return err
		}
	}
	return nil
}

func TestBodies(t *testing.T) {
	seen := make(map[string]bool)
	for _, tr := range append(faultTrials(), soak) {
		name := seeded(tr.name, 7)
		require.False(t, seen[name], "two trials of the name %s", name)
		seen[name] = true
		_, err := Body(name)
		require.NoError(t, err)
	}
	for _, name := range []string{"", "soak", "soak@", "soak@x", "nothing@1"} {
		_, err := Body(name)
		require.ErrorContains(t, err, fmt.Sprintf("%q", name))
	}
}

func TestSpawnIsOptional(t *testing.T) {
	for _, tr := range failSpawnTrials {
		err := runModel(t.Context(), "no spawn", 4, tr.body(1))
		require.ErrorIs(t, err, ErrSkip)
		require.Equal(t, SkipCode, ExitCode(err))
	}
}
