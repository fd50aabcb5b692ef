package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func TestNamesRoundTrip(t *testing.T) {
	id := storage.ID{Version: 12, Attempt: container.AttemptID{1, 0x23}}
	require.Equal(t, "v-000012-0123000000000000", id.String())
	got, ok := storage.ParseID(id.String())
	require.True(t, ok)
	require.Equal(t, id, got)
	part := storage.Part{Rank: 3, Size: 8}
	require.Equal(t, "rank-00003-of-00008.craft", part.String())
	gotPart, ok := storage.ParsePart(part.String())
	require.True(t, ok)
	require.Equal(t, part, gotPart)
	for _, name := range []string{"", "v-12-0123000000000000", "v-000012-012300000000000", "v-000012-0123000000000000 (copy)",
		"v-000000-0123000000000000", "v-0000012-0123000000000000", "V-000012-0123000000000000", "v-000012-012300000000000G"} {
		_, ok := storage.ParseID(name)
		require.False(t, ok, name)
	}
	for _, name := range []string{"", "rank-00008-of-00008.craft", "rank-00003-of-00008.craft.bak", ".rank-00003-of-00008.craft.tmp", "rank-3-of-8.craft"} {
		_, ok := storage.ParsePart(name)
		require.False(t, ok, name)
	}
}
