package env

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "17": 17, "17b": 17, "4k": 4096, "4KiB": 4096, "512MiB": 512 << 20, "3G": 3 << 30, " 2 gb ": 2 << 30, "1TiB": 1 << 40,
	} {
		var s Size
		require.NoError(t, s.Decode(text), text)
		require.Equal(t, want, s, text)
		var again Size
		require.NoError(t, again.Decode(s.String()))
		require.Equal(t, s, again)
	}
	for _, text := range []string{"", "x", "-1", "1.5G", "9999999999G", "MiB", "1 2", "1ii", "0x10"} {
		s := Size(math.MaxInt64)
		require.ErrorContains(t, s.Decode(text), text, text)
	}
}
