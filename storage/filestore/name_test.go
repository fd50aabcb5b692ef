package filestore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

func TestNamesOfCheckpoints(t *testing.T) {
	for _, bad := range []string{
		"", ".x", "v-000012-0123456789abcdef", "v-1234567-0123456789abcdef", storage.ManifestName, LatestName,
		RecordPrefix + "20260102T030405678Z-0123456789abcdef.json",
	} {
		require.ErrorIs(t, CheckName(bad), storage.ErrName, bad)
	}
	for _, good := range []string{"heat", "v-12-0123456789abcdef", "v-000000-0123456789abcdef", "v-000012", RecordPrefix + "1.json", "notes.json"} {
		require.NoError(t, CheckName(good))
	}
}
