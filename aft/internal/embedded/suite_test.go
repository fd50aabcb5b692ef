package embedded_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/commtest"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/embedded"
)

// patience gives a hanging job away. The suites have less, and say what hangs.
const patience = 6 * time.Minute

// runTyped runs a body of package comm.
func runTyped(ctx context.Context, n int, body func(ctx context.Context, c *comm.Comm) error) error {
	return embedded.Run(ctx, n, onDriver(body))
}

func onDriver(body func(ctx context.Context, c *comm.Comm) error) func(context.Context, driver.Comm) error {
	return func(ctx context.Context, d driver.Comm) error { return body(ctx, comm.New(d)) }
}

func run(t *testing.T, n int, body func(ctx context.Context, c driver.Comm) error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, embedded.Run(ctx, n, body))
}

func runOn(t *testing.T, n int, body func(ctx context.Context, c *comm.Comm) error) {
	run(t, n, onDriver(body))
}

func TestSuite(t *testing.T) { commtest.Run(t, run) }

func TestFailures(t *testing.T) {
	commtest.RunFailures(t, func(t *testing.T, n int, _ string, body commtest.FaultyBody) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err := embedded.RunInproc(ctx, embedded.InprocConfig{Ranks: n, Nodes: []embedded.Node{{Name: "a"}, {Name: "b"}}}, func(ctx context.Context, r *embedded.InprocRank) error {
			return body(ctx, r.Session().Place().Comm, r)
		})
		commtest.Verdict(t, err)
	})
}
