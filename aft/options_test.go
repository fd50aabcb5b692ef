package aft_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

func TestBadSettings(t *testing.T) {
	nothing := func(context.Context, *aft.Zone) error { return nil }
	for name, c := range map[string]struct {
		variable, value, want string
		opts                  []aft.Option
	}{
		"recovery":           {variable: "CRAFT_COMM_RECOVERY_POLICY", value: "GROWING", want: `CRAFT_COMM_RECOVERY_POLICY="GROWING"`},
		"spawn":              {variable: "CRAFT_COMM_SPAWN_POLICY", value: "reuse", want: "allowed are REUSE, NO-REUSE"},
		"option of recovery": {opts: []aft.Option{aft.WithRecovery("")}, want: "allowed are SHRINKING, NON-SHRINKING"},
		"option of spawn":    {opts: []aft.Option{aft.WithSpawn("x")}, want: `CRAFT_COMM_SPAWN_POLICY="x"`},
		"delay":              {variable: "CRAFT_RECOVERY_DELAY", value: "-1ns", want: `CRAFT_RECOVERY_DELAY="-1ns"`},
		"a word as delay":    {variable: "CRAFT_RECOVERY_DELAY", value: "soon", want: "allowed are a duration such as 2s, or never"},
		"option of delay":    {opts: []aft.Option{aft.WithRecoveryDelay(-2)}, want: `CRAFT_RECOVERY_DELAY="-2ns"`},
		"role":               {variable: "CRAFT_ROLE", value: "x", want: "allowed are guard, daemon, rank"},
		"ranks":              {opts: []aft.Option{aft.WithRanks(0)}, want: "WithRanks(0): at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			require.ErrorContains(t, aft.Run(t.Context(), nothing, c.opts...), c.want)
		})
	}
	require.ErrorIs(t, aft.Run(t.Context(), nil), aft.ErrArgument)
	ctx := comm.WithSession(t.Context(), comm.Self().Session())
	require.ErrorIs(t, aft.Run(ctx, func(context.Context, *aft.Zone) error { return nil }), aft.ErrArgument)
}

// A zone says once which variables nothing reads, whoever asks first.
func TestUnknownVariables(t *testing.T) {
	t.Setenv("CRAFT_REPAIRTIMEOUT", t.TempDir())
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for range 2 {
		require.NoError(t, aft.Run(t.Context(), func(context.Context, *aft.Zone) error { return nil }, aft.WithRanks(3), aft.WithLogger(logger)))
	}
	require.Equal(t, 1, strings.Count(log.String(), "variable=CRAFT_REPAIRTIMEOUT nearest=CRAFT_REPAIR_TIMEOUT"), log.String())
}

// The environment chooses the policy, and options win over it.
func TestPolicies(t *testing.T) {
	t.Setenv("CRAFT_COMM_RECOVERY_POLICY", "SHRINKING")
	for ranks, opts := range map[int][]aft.Option{2: nil, 3: {aft.WithRecovery(comm.NonShrinking)}} {
		j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
			if z.Epoch() == 0 && z.Original() == 0 {
				s.die()
			}
			return comm.Barrier(ctx, z.Comm())
		}, opts...))
		j.allFinish(t, ranks)
	}
}

// A program that nobody has launched is a job of one rank.
func TestAlone(t *testing.T) {
	bodies, before := 0, 0
	body := func(ctx context.Context, z *aft.Zone) error {
		if bodies++; bodies == 1 {
			before = z.Epoch() // the session is the process's
		}
		require.Equal(t, 1, z.Comm().Size())
		switch z.Epoch() - before {
		case 0:
			return z.Comm().Revoke()
		case 1:
			_, err := z.Repair(ctx)
			require.NoError(t, err)
			require.NoError(t, z.Context().Err())
		}
		require.Equal(t, before+2, z.Stats().Recoveries)
		return comm.Barrier(z.Context(), z.Comm())
	}
	require.NoError(t, aft.Run(t.Context(), body, quiet))
	require.Equal(t, 2, bodies)
	err := aft.Run(t.Context(), func(context.Context, *aft.Zone) error { return errOwn }, quiet)
	require.ErrorIs(t, err, errOwn)
	require.EqualError(t, err, "rank 0: out of luck")
	require.NoError(t, aft.Run(t.Context(), body, quiet), "the next zone has a communicator that works")
}
