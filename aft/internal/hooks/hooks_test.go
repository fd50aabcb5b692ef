package hooks

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHookThatAddsItselfAgain is called once each time, as what else is added meanwhile.
func TestHookThatAddsItselfAgain(t *testing.T) {
	var h List
	var order []string
	var again func(context.Context) error
	again = func(context.Context) error {
		order = append(order, "again")
		require.Less(t, len(order), 10)
		h.Add(again)
		return nil
	}
	h.Add(func(context.Context) error {
		order = append(order, "first")
		return nil
	})
	h.Add(again)
	require.NoError(t, h.Call(t.Context()))
	require.Equal(t, []string{"again", "first"}, order)
	remove := h.Add(func(context.Context) error {
		order = append(order, "removed")
		return nil
	})
	remove()
	require.NoError(t, h.Call(t.Context()))
	require.Equal(t, []string{"again", "first", "again"}, order)
}
