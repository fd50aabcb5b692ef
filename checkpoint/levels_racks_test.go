package checkpoint

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

const (
	copiesInRack = "some copies are in the rack of their originals"
	setsInRack   = "sets have more members in one rack than they can lose"
	noSuchNode   = "CRAFT_RACKS names what is no node of this job"
)

// Whoever says what fails together is told where that is not survived.
func TestLevelsRacks(t *testing.T) {
	even, odd := []int{0, 0, 1, 1, 2, 2, 3, 3}, []int{0, 0, 1, 1, 2, 2, 3}
	for name, c := range map[string]struct {
		nodes         []int
		levels, racks string
		told          []string
	}{
		"copies":             {even, "local,partner", "node0=a,node1=a,node2=b,node3=b", nil},
		"copies, large rack": {odd, "partner", "node0=a,node1=a,node2=b,node3=b", []string{copiesInRack, "ranks=[0]"}},
		"copies, one rack":   {even, "partner", "node0=a,node1=a,node2=a,node3=a", nil},
		"copies, no racks":   {even, "partner", "", nil},
		"xor":                {even, "xor", "node0=a,node1=a,node2=b,node3=b", []string{setsInRack, "members=2 parities=1"}},
		"xor, four racks":    {even, "xor", "node0=a,node1=b,node2=c,node3=d", nil},
		"xor, no racks":      {even, "xor", "", nil},
		"rs":                 {even, "rs", "node0=a,node1=a,node2=b,node3=b", nil},
		"wrong name":         {even, "local", "node0=a,nod1=a,node2=b,n77=b", []string{noSuchNode, "names=n77,nod1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CRAFT_RACKS", c.racks)
			log := newTestNodes(t, c.nodes...).job(t, c.levels, 2, none)
			for _, told := range c.told {
				require.Equal(t, 1, strings.Count(log, told), "%s", log)
			}
			for _, other := range []string{copiesInRack, setsInRack, noSuchNode} {
				if len(c.told) == 0 || c.told[0] != other {
					require.NotContains(t, log, other)
				}
			}
		})
	}
}

func TestLevelsNodeInTwoRacks(t *testing.T) {
	for racks, want := range map[string]string{
		"node-0=a,node-1=b,node-0=b": "node-0 is in rack a and in rack b",
		"node-0=a,node-1":            "CRAFT_RACKS",
		"=a":                         "CRAFT_RACKS",
	} {
		t.Setenv("CRAFT_RACKS", racks)
		require.NoError(t, afttest.Run(t.Context(), 1, func(_ context.Context, c *comm.Comm) error {
			_, err := New("cp", c, WithPath(t.TempDir()))
			require.ErrorContains(t, err, want)
			return nil
		}))
	}
	c := levelConfig{Racks: "node-0=a, node-0=a,host=c"}
	require.Equal(t, "a", c.rack("host", "/nodes/node-0"), "the directory says more than the host")
	require.Equal(t, "c", c.rack("host", "/nodes/node-1"))
}
