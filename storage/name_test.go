package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "lanczos", "v2.0", "α-β", "my matrix", "x_1"} {
		require.NoError(t, CheckName("key", good))
	}
	for _, bad := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "a\x00", "a\n", " a", "a ", "-rf", "a:b", "\xff", string(make([]byte, 300))} {
		require.ErrorIs(t, CheckName("key", bad), ErrName, "%q", bad)
	}
}
