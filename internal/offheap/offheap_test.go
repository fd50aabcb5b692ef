package offheap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMemory(t *testing.T) {
	p, err := Allocate(3 << 20)
	require.NoError(t, err)
	require.Len(t, p, 3<<20)
	for i := range p {
		require.Zero(t, p[i])
		p[i] = byte(i)
	}
	Idle(p)
	p[5] = 7
	require.Equal(t, byte(7), p[5])
	require.NoError(t, Release(p))
	require.Positive(t, Available())
}
