package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// TestPlaceOfAReplacement: of a process of node 1, which has two as node 0 has.
func TestPlaceOfAReplacement(t *testing.T) {
	cases := map[string]struct {
		nodes  []NodeConfig
		policy driver.SpawnPolicy
		lost   []Node
		want   int // -1: none is left
	}{
		"where it was":                    {nodesOf(3, 1), driver.Reuse, nil, 1},
		"on a spare node":                 {nodesOf(3, 1), driver.NoReuse, nil, 2},
		"there is none":                   {nodesOf(2, 0), driver.NoReuse, nil, 1},
		"the spare one is lost":           {nodesOf(3, 1), driver.NoReuse, []Node{2}, 1},
		"the fewest":                      {nodesOf(4, 2), driver.Reuse, []Node{1, 2}, 3},
		"no slot is free, but they share": {[]NodeConfig{{Name: "a", Slots: 2}, {Name: "b", Slots: 2}}, driver.Reuse, []Node{1}, 0},
		"nowhere":                         {nodesOf(2, 0), driver.Reuse, []Node{0, 1}, -1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMembers(c.nodes)
			d := &deployment{out: m.out, members: m}
			for _, n := range c.lost {
				m.declareLost(m.nodes[n], "off")
			}
			if n := d.place(&process{node: m.nodes[1]}, c.policy); c.want < 0 {
				require.Nil(t, n)
			} else {
				require.Equal(t, Node(c.want), n.id)
			}
		})
	}
}
