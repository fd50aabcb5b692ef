package commtest

import (
	"context"
	"testing"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/stretchr/testify/require"
)

func TestSuiteOnModel(t *testing.T) {
	if testing.Short() {
		t.Skip("it tests the model")
	}
	Run(t, func(t *testing.T, n int, body func(context.Context, driver.Comm) error) {
		require.NoError(t, runModel(t.Context(), "", n, func(ctx context.Context, c driver.Comm, _ Faults) error {
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
