//go:build unix

package vfs

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A named pipe without a writer does not stop whoever looks at it.
func TestPipeInPlaceOfAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	_, err := ReadFile(OS(), name, 100)
	require.ErrorIs(t, err, fs.ErrInvalid)
	require.ErrorContains(t, err, "not a regular file")
}
