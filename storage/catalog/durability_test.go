package catalog

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

func TestDurability(t *testing.T) {
	on := storage.LevelsOf
	for _, c := range []struct {
		kept             Kept
		synced, verified bool
		want             Durability
	}{
		{Kept{}, true, true, Captured},
		{Kept{Reached: on(storage.Local)}, true, false, Local},
		{Kept{Reached: on(storage.Local)}, true, true, Local},
		{Kept{Reached: on(storage.Partner)}, true, false, Redundant},
		{Kept{Reached: on(storage.RS)}, false, false, Redundant},
		{Kept{Home: true}, true, false, AtHome},
		{Kept{Home: true}, true, true, Verified},
		{Kept{Home: true}, false, true, Local},
		{Kept{Home: true, Reached: on(storage.XOR)}, false, true, Redundant},
		{Kept{Home: true, Reached: on(storage.XOR)}, true, false, AtHome},
	} {
		got := c.kept.Durability(c.synced, c.verified)
		require.Equal(t, c.want, got, "%+v", c)
		var back Durability
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, got, back)
	}
	require.ErrorContains(t, new(Durability).UnmarshalText([]byte("safe")), "allowed: captured, local, redundant, home, verified")
}
