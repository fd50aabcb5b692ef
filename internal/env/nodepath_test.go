package env

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefaultNodePath: two users of a machine do not meet.
func TestDefaultNodePath(t *testing.T) {
	require.True(t, filepath.IsAbs(DefaultNodePath()))
	require.Equal(t, "craft-"+strconv.Itoa(os.Geteuid()), filepath.Base(DefaultNodePath()))
}
