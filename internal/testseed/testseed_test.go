package testseed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeed(t *testing.T) {
	require.NotEqual(t, Seed(t), Seed(t))
	t.Setenv(variable, "18446744073709551615")
	require.Equal(t, ^uint64(0), Seed(t))
	require.Equal(t, Rand(t).Uint64(), Rand(t).Uint64())
}
