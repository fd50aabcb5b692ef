package control

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGroups: which communicators there are after what is done with one that was made of the world
// (2), one that was made of that (3), and one that lasts (4).
func TestGroups(t *testing.T) {
	cases := map[string]struct {
		do      func(c *groups, m *membership)
		there   []CommID
		revoked []CommID
	}{
		"nothing": {func(*groups, *membership) {}, []CommID{1, 2, 3, 4}, nil},
		"revoked with all that was made of it": {func(c *groups, _ *membership) {
			require.True(t, c.revoke(time.Unix(1, 0), Revoke{Comm: 1, Derived: true}))
			require.False(t, c.revoke(time.Unix(1, 0), Revoke{Comm: 1, Derived: true}), "no news")
		}, []CommID{1, 2, 3, 4}, []CommID{1, 2, 3}},
		"revoked alone":      {func(c *groups, _ *membership) { c.revoke(time.Unix(1, 0), Revoke{Comm: 2}) }, []CommID{1, 2, 3, 4}, []CommID{2}},
		"given back by some": {func(c *groups, m *membership) { c.giveBack(m.world[0], 2) }, []CommID{1, 2, 3, 4}, nil},
		"given back by all who are there": {func(c *groups, m *membership) {
			m.world[3].fail("", "", 1)
			for _, p := range m.world[:3] {
				c.giveBack(p, 2)
				c.giveBack(p, 1) // nobody gives the world back
			}
		}, []CommID{1, 3, 4}, nil},
		"another world": {func(c *groups, m *membership) { c.replaceWorld(m.world[1:]) }, []CommID{4, 5}, nil},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMembers(nodesOf(2, 0))
			c := &groups{all: make(map[CommID]*group)}
			made := c.derive(m.world, c.replaceWorld(m.world), false)
			c.derive(m.world, made, false)
			c.derive(m.world, made, true)
			k.do(c, m)
			var there, revoked []CommID
			for id, g := range c.all {
				there = append(there, id)
				if g.revoked {
					revoked = append(revoked, id)
				}
			}
			slices.Sort(there)
			slices.Sort(revoked)
			require.Equal(t, k.there, there)
			require.Equal(t, k.revoked, revoked)
		})
	}
}
