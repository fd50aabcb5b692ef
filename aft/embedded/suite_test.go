package embedded_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/commtest"
	"github.com/craft-go/craft/aft/embedded"
)

// launch gives a hanging job away by its deadline.
func launch(t *testing.T, n int, body func(ctx context.Context, c comm.Comm) error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, embedded.Run(ctx, n, body))
}

func TestSuite(t *testing.T) { commtest.Run(t, launch) }
