package engine

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOneSessionPerProcess(t *testing.T) {
	first, err := Join(t.Context(), slog.Default())
	require.NoError(t, err)
	again, err := Join(t.Context(), slog.Default())
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 1, first.Place().Comm.Size())
	require.False(t, first.Place().Replacement)
}
