package comm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/commtest"
	"github.com/craft-go/craft/aft/comm/driver"
)

// TestCollectives runs the collectives of the suite with messages that wait for
// their receiver, however short: no algorithm may depend on a buffer.
func TestCollectives(t *testing.T) {
	commtest.RunCollectives(t, postrooms(-1), 2, 3, 5, 8, 13)
}

// TestLargeGroups are above the change to trees and rings.
func TestLargeGroups(t *testing.T) {
	commtest.RunCollectives(t, postrooms(64<<10), 17, 21)
}

func postrooms(eager int) commtest.Launch {
	return func(t *testing.T, n int, body func(context.Context, driver.Comm) error) {
		require.NoError(t, (&postroom{eager: eager}).runDriver(t.Context(), n, body))
	}
}
