package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/stretchr/testify/require"
)

// TestAgree: whatever the ranks know when an attempt begins, they go on alike.
func TestAgree(t *testing.T) {
	centres := []float64{1, 2}
	for name, c := range map[string]struct {
		ranks []state
		want  state
	}{
		"the beginning":            {[]state{{next: unknown}, {next: unknown}}, state{copies: 2}},
		"replacement":              {[]state{{next: 7, centres: centres, copies: 4}, {next: unknown}}, state{next: 7, centres: centres, copies: 4}},
		"one step apart":           {[]state{{next: 6, centres: []float64{0, 0}, copies: 2}, {next: 7, centres: centres, copies: 2}}, state{next: 7, centres: centres, copies: 2}},
		"chosen by some":           {[]state{{next: 0, centres: centres, copies: 2}, {next: 0, copies: 2}}, state{copies: 2}},
		"all were killed before":   {[]state{{next: 7, centres: centres, copies: 2, spared: true}, {next: unknown}}, state{next: 7, centres: centres, copies: 2, spared: true}},
		"fewer ranks than copies":  {[]state{{next: unknown}}, state{copies: 1}},
		"more of them than copies": {make([]state, 5), state{copies: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, new(afttest.Cluster).Run(t.Context(), len(c.ranks), func(ctx context.Context, r *afttest.Rank) error {
				return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
					mine := c.ranks[z.Comm().Rank()]
					if err := mine.agree(ctx, z, 3); err != nil {
						return err
					}
					require.Equal(t, c.want, mine)
					return nil
				}, aft.WithLogger(slog.New(slog.DiscardHandler)))
			}))
		})
	}
}

// TestOverIsOfTheWholeRun: a replacement that prints the result has not seen all of the run.
func TestOverIsOfTheWholeRun(t *testing.T) {
	for _, wall := range []time.Duration{time.Second, 40 * time.Second} {
		r := result{Restore: restore{Open: 1, Submit: 3}, elapsed: 40}
		r.over(wall)
		require.EqualValues(t, 40, r.Seconds)
		require.InDelta(t, 10, r.Percent, 1e-9)
	}
}
