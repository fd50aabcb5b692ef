package erasure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestComeOutOfOrder: a short piece overtakes a long one; the member has given no stripe
// before all of it has come.
func TestComeOutOfOrder(t *testing.T) {
	c := &collector{givers: make([]giver, 2), changed: make(chan struct{})}
	first, second, third := &expected{next: 3}, &expected{next: 5}, &expected{next: 9}
	in := &parityReceiver{c: c, member: 1, pending: []*expected{first, second, third}}
	in.come(second)
	require.Zero(t, c.givers[1].next)
	in.come(first)
	require.EqualValues(t, 5, c.givers[1].next)
	in.come(third)
	require.EqualValues(t, 9, c.givers[1].next)
}
