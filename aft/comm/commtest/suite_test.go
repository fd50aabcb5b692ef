package commtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

func TestSuiteOnModel(t *testing.T) {
	if testing.Short() {
		t.Skip("it tests the model")
	}
	Run(t, func(t *testing.T, n int, body func(context.Context, comm.Comm) error) {
		require.NoError(t, runModel(t.Context(), "", n, func(ctx context.Context, c comm.Comm, _ Faults) error {
			return body(ctx, c)
		}))
	})
}

func TestFailuresOnModel(t *testing.T) {
	RunFailures(t, func(t *testing.T, n int, name string, _ FaultyBody) {
		body, err := Body(name)
		require.NoError(t, err)
		Verdict(t, runModel(t.Context(), "", n, body))
	})
}
